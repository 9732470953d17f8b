/* SPDX-License-Identifier: Apache-2.0 */
/* One thread that works through one list of jobs. */
#include "agent/sync_thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

struct sync_thread {
    const struct sys *sys;
    void (*wake)(void *arg);
    void *arg;
    pthread_t thread;
    pthread_mutex_t lock; /* guards first and stopping */
    pthread_cond_t ready;
    pthread_cond_t done;
    struct sync_job *first;
    bool stopping;
};

static struct sync_job *next_job(struct sync_thread *t)
{
    pthread_mutex_lock(&t->lock);
    while (!t->first && !t->stopping) {
        pthread_cond_wait(&t->ready, &t->lock);
    }
    struct sync_job *job = t->first;
    if (job) {
        t->first = job->next;
    }
    pthread_mutex_unlock(&t->lock);
    return job;
}

static void *sync_run(void *arg)
{
    struct sync_thread *t = arg;
    for (struct sync_job *job; (job = next_job(t));) {
        job->error = sync_now(t->sys, job);
        /* Pairs with the journal's acquire; the job may be reused right after this. */
        atomic_store_explicit(&job->finished, true, memory_order_release);
        pthread_mutex_lock(&t->lock);
        pthread_cond_broadcast(&t->done);
        pthread_mutex_unlock(&t->lock);
        t->wake(t->arg);
    }
    return NULL;
}

static void sync_start(void *self, struct sync_job *job)
{
    struct sync_thread *t = self;
    pthread_mutex_lock(&t->lock);
    struct sync_job **end = &t->first;
    while (*end) {
        end = &(*end)->next;
    }
    job->next = NULL;
    *end = job;
    pthread_mutex_unlock(&t->lock);
    pthread_cond_signal(&t->ready);
    sched_yield();
}

static void sync_finish(void *self, struct sync_job *job)
{
    struct sync_thread *t = self;
    pthread_mutex_lock(&t->lock);
    while (!atomic_load_explicit(&job->finished, memory_order_acquire)) {
        pthread_cond_wait(&t->done, &t->lock);
    }
    pthread_mutex_unlock(&t->lock);
}

gpufl_status sync_thread_open(const struct sys *sys, void (*wake)(void *arg), void *arg,
                              struct sync_thread **out)
{
    *out = NULL;
    struct sync_thread *t = calloc(1, sizeof *t);
    if (!t) {
        return GPUFL_ERR_NOMEM;
    }
    t->sys = sys;
    t->wake = wake;
    t->arg = arg;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->ready, NULL);
    pthread_cond_init(&t->done, NULL);
    if (pthread_create(&t->thread, NULL, sync_run, t) != 0) {
        free(t);
        return GPUFL_ERR_NOMEM;
    }
    *out = t;
    return GPUFL_OK;
}

struct syncer sync_thread_syncer(struct sync_thread *t)
{
    return (struct syncer){.start = sync_start, .finish = sync_finish, .self = t};
}

void sync_thread_close(struct sync_thread *t)
{
    if (!t) {
        return;
    }
    pthread_mutex_lock(&t->lock);
    t->stopping = true;
    pthread_cond_signal(&t->ready);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->ready);
    pthread_cond_destroy(&t->done);
    pthread_mutex_destroy(&t->lock);
    free(t);
}
