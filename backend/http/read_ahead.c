/* SPDX-License-Identifier: Apache-2.0 */
/* The threads, and the bodies that wait for them. */
#include "backend/http/read_ahead.h"

/* A body is decoded to 128 MiB at most, and nobody knows before. */
#define HELD_MAX       4u
#define HELD_BYTES_MAX (16u << 20)

static bool has_room(const struct read_ahead *ahead)
{
    return ahead->held == 0 ||
           (ahead->held < HELD_MAX && ahead->held_bytes <= HELD_BYTES_MAX);
}

/* NULL at the end. */
static struct read_ahead_body *next_body(struct read_ahead *ahead)
{
    struct read_ahead_body *body = NULL;
    pthread_mutex_lock(&ahead->lock);
    while (ahead->running && (!ahead->first || !has_room(ahead))) {
        pthread_cond_wait(&ahead->turn, &ahead->lock);
    }
    if (ahead->running) {
        body = ahead->first;
        ahead->first = body->next;
        ahead->held++;
    }
    pthread_mutex_unlock(&ahead->lock);
    return body;
}

static void note_read(struct read_ahead *ahead, struct read_ahead_body *body)
{
    pthread_mutex_lock(&ahead->lock);
    body->state = AHEAD_READ;
    ahead->held_bytes += body->read.bytes;
    pthread_mutex_unlock(&ahead->lock);
}

static void *read_all(void *arg)
{
    struct read_ahead *ahead = arg;
    struct read_ahead_body *body;
    while ((body = next_body(ahead))) {
        struct MHD_Connection *connection = body->connection;
        body->take(&body->request, &body->read);
        note_read(ahead, body);
        MHD_resume_connection(connection);
    }
    return NULL;
}

void read_ahead_start(struct read_ahead *ahead)
{
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->turn, NULL);
    ahead->running = true;
    while (ahead->threads < READ_AHEAD_THREADS &&
           pthread_create(&ahead->thread[ahead->threads], NULL, read_all, ahead) == 0) {
        ahead->threads++;
    }
}

bool read_ahead_begin(struct read_ahead *ahead, struct read_ahead_body *body)
{
    pthread_mutex_lock(&ahead->lock);
    bool begins = ahead->running && ahead->threads > 0;
    if (begins) {
        body->ahead = ahead;
        body->next = NULL;
        body->state = AHEAD_WAITS;
        *(ahead->first ? &ahead->last->next : &ahead->first) = body;
        ahead->last = body;
        MHD_suspend_connection(body->connection);
        pthread_cond_signal(&ahead->turn);
    }
    pthread_mutex_unlock(&ahead->lock);
    return begins;
}

void read_ahead_end(struct read_ahead_body *body)
{
    if (body->state == AHEAD_READ) {
        pthread_mutex_lock(&body->ahead->lock);
        body->ahead->held--;
        body->ahead->held_bytes -= body->read.bytes;
        pthread_cond_signal(&body->ahead->turn);
        pthread_mutex_unlock(&body->ahead->lock);
    }
    ingest_read_fini(&body->read);
    body->state = AHEAD_NOT;
}

void read_ahead_stop(struct read_ahead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    ahead->running = false;
    pthread_cond_broadcast(&ahead->turn);
    pthread_mutex_unlock(&ahead->lock);
    while (ahead->threads > 0) {
        pthread_join(ahead->thread[--ahead->threads], NULL);
    }
    for (struct read_ahead_body *body = ahead->first; body;) {
        struct read_ahead_body *next = body->next;
        MHD_resume_connection(body->connection);
        body = next;
    }
    ahead->first = NULL;
}
