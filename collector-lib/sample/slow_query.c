/* SPDX-License-Identifier: Apache-2.0 */
/* One thread sleeps until a sample is taken, then queries each device once, at most
 * every PERIOD_S, since drivers spin while they answer. */
#include "collector-lib/sample/slow_query.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector-lib/core/thread.h"

#define PERIOD_S 1

struct slow_query {
    slow_query_ask *ask;
    void *arg;
    unsigned devices;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows; never held during a query */
    pthread_cond_t wake;
    bool wanted;
    bool stop;
    int64_t last[GPU_MAX][SLOW_FIGURES];
};

static bool query_stopped(struct slow_query *q)
{
    pthread_mutex_lock(&q->lock);
    bool stop = q->stop;
    pthread_mutex_unlock(&q->lock);
    return stop;
}

static void ask_all(struct slow_query *q)
{
    for (unsigned i = 0; i < q->devices && !query_stopped(q); i++) {
        int64_t answer[SLOW_FIGURES];
        memset(answer, 0xff, sizeof answer); /* GPU_NOT_AVAILABLE */
        q->ask(q->arg, i, answer);
        pthread_mutex_lock(&q->lock);
        memcpy(q->last[i], answer, sizeof answer);
        pthread_mutex_unlock(&q->lock);
    }
}

/* Sleeps until \p not_before, then until a sample is taken. \return false to end. */
static bool next_question(struct slow_query *q, const struct timespec *not_before)
{
    pthread_mutex_lock(&q->lock);
    while (!q->stop &&
           pthread_cond_timedwait(&q->wake, &q->lock, not_before) != ETIMEDOUT) {
    }
    while (!q->wanted && !q->stop) {
        pthread_cond_wait(&q->wake, &q->lock);
    }
    bool stop = q->stop;
    q->wanted = false;
    pthread_mutex_unlock(&q->lock);
    return !stop;
}

static void *ask_until_stopped(void *arg)
{
    struct slow_query *q = arg;
    struct timespec not_before = {0};
    while (next_question(q, &not_before)) {
        clock_gettime(CLOCK_MONOTONIC, &not_before);
        not_before.tv_sec += PERIOD_S;
        ask_all(q);
    }
    return NULL;
}

struct slow_query *slow_query_open(unsigned devices, slow_query_ask *ask, void *arg)
{
    struct slow_query *q = calloc(1, sizeof *q);
    if (!q) {
        return NULL;
    }
    q->ask = ask;
    q->arg = arg;
    q->devices = devices < GPU_MAX ? devices : GPU_MAX;
    memset(q->last, 0xff, sizeof q->last); /* GPU_NOT_AVAILABLE */
    pthread_mutex_init(&q->lock, NULL);
    thread_condition_init(&q->wake);
    int rc = thread_start(&q->thread, THREAD_SLOW, ask_until_stopped, q);
    if (rc != 0) {
        pthread_cond_destroy(&q->wake);
        pthread_mutex_destroy(&q->lock);
        free(q);
        return NULL;
    }
    return q;
}

void slow_query_take(struct slow_query *q, unsigned at, int64_t out[SLOW_FIGURES])
{
    memset(out, 0xff, sizeof q->last[at]); /* GPU_NOT_AVAILABLE */
    if (!q) {
        return;
    }
    pthread_mutex_lock(&q->lock);
    memcpy(out, q->last[at], sizeof q->last[at]);
    if (!q->wanted) {
        q->wanted = true;
        pthread_cond_signal(&q->wake);
    }
    pthread_mutex_unlock(&q->lock);
}

void slow_query_close(struct slow_query *q)
{
    if (!q) {
        return;
    }
    pthread_mutex_lock(&q->lock);
    q->stop = true;
    pthread_cond_signal(&q->wake);
    pthread_mutex_unlock(&q->lock);
    pthread_join(q->thread, NULL);
    pthread_cond_destroy(&q->wake);
    pthread_mutex_destroy(&q->lock);
    free(q);
}
