/* SPDX-License-Identifier: Apache-2.0 */
/* Suspends connections that have nothing to send; the next change resumes them. */
#include "backend/http/http_changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 512u
#define HELLO       "retry: 2000\n\n"
#define NUDGE       ":\n\n"

struct change_listener {
    struct changes *changes;
    struct MHD_Connection *connection;
    unsigned place;
    uint64_t told; /* changes before this one */
    bool greeted;
    bool nudged; /* gets a comment, since writing shows whether the peer is gone */
    bool suspended;
};

static void wake_all(struct changes *changes)
{
    for (unsigned i = 0; i < CHANGES_LISTENERS_MAX; i++) {
        struct change_listener *l = changes->listener[i];
        if (l && l->suspended) {
            l->suspended = false;
            MHD_resume_connection(l->connection);
        }
    }
}

/* A second change of a session counts only once someone has read the first. */
static bool is_told_anyway(const struct changes *changes, const char *session)
{
    const char *last = changes->session[(changes->count - 1) % CHANGES_RECENT];
    if (changes->count == 0 || strcmp(last, session) != 0) {
        return false;
    }
    for (unsigned i = 0; i < CHANGES_LISTENERS_MAX; i++) {
        const struct change_listener *l = changes->listener[i];
        if (l && l->told == changes->count) {
            return false;
        }
    }
    return true;
}

void changes_note(struct changes *changes, const char *session)
{
    pthread_mutex_lock(&changes->lock);
    if (!is_told_anyway(changes, session)) {
        char *entry = changes->session[changes->count++ % CHANGES_RECENT];
        snprintf(entry, LAYOUT_NAME_MAX + 1, "%s", session);
    }
    wake_all(changes);
    pthread_mutex_unlock(&changes->lock);
}

/* One event, or a comment. An empty event says that older changes were forgotten. */
static size_t next_event(struct change_listener *l, char *buf, size_t max)
{
    const struct changes *changes = l->changes;
    if (!l->greeted) {
        l->greeted = true;
        return (size_t)snprintf(buf, max, HELLO);
    }
    if (l->nudged) {
        l->nudged = false;
        return (size_t)snprintf(buf, max, NUDGE);
    }
    if (changes->count - l->told > CHANGES_RECENT) {
        l->told = changes->count;
        return (size_t)snprintf(buf, max, "data:\n\n");
    }
    return (size_t)snprintf(buf, max, "data: %s\n\n",
                            changes->session[l->told++ % CHANGES_RECENT]);
}

static ssize_t read_events(void *arg, uint64_t position, char *buf, size_t max)
{
    struct change_listener *l = arg;
    struct changes *changes = l->changes;
    ssize_t n = 0;
    (void)position;
    pthread_mutex_lock(&changes->lock);
    if (changes->closing) {
        n = MHD_CONTENT_READER_END_OF_STREAM;
    } else if (l->greeted && !l->nudged && l->told == changes->count) {
        l->suspended = true;
        MHD_suspend_connection(l->connection);
    } else {
        n = (ssize_t)next_event(l, buf, max);
    }
    pthread_mutex_unlock(&changes->lock);
    return n;
}

static void end_listening(void *arg)
{
    struct change_listener *l = arg;
    struct changes *changes = l->changes;
    pthread_mutex_lock(&changes->lock);
    changes->listener[l->place] = NULL;
    pthread_mutex_unlock(&changes->lock);
    free(l);
}

static bool take_place(struct changes *changes, struct change_listener *l)
{
    bool found = false;
    pthread_mutex_lock(&changes->lock);
    l->told = changes->count;
    for (unsigned i = 0; i < CHANGES_LISTENERS_MAX; i++) {
        if (changes->listener[i]) {
            changes->listener[i]->nudged = true;
        } else if (!found) {
            found = true;
            l->place = i;
            changes->listener[i] = l;
        }
    }
    wake_all(changes); /* so that closed pages are noticed and make room */
    pthread_mutex_unlock(&changes->lock);
    return found;
}

struct MHD_Response *changes_listen(struct changes *changes, struct MHD_Connection *c)
{
    struct change_listener *l = calloc(1, sizeof *l);
    if (!l) {
        return NULL;
    }
    l->changes = changes;
    l->connection = c;
    if (!take_place(changes, l)) {
        free(l);
        return NULL;
    }
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_events, l, end_listening);
    if (!response) {
        end_listening(l);
    }
    return response;
}

void changes_close(struct changes *changes)
{
    pthread_mutex_lock(&changes->lock);
    changes->closing = true;
    wake_all(changes);
    pthread_mutex_unlock(&changes->lock);
}
