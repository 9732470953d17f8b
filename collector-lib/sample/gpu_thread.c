/* SPDX-License-Identifier: Apache-2.0 */
/* One thread that alone calls the driver, and what it shares with the writer's. */
#include "collector-lib/sample/gpu_thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector-lib/core/clock.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/thread.h"

#define NS_PER_MS 1000000

struct gpu_thread {
    enum gpufl_backend_kind kind;
    struct gpu_wish wish;
    char *sysfs; /* of the wish */
    pthread_t thread;
    struct gpu gpu; /* this and the next one are the thread's own */
    struct gpu_sample reading[GPU_MAX];

    pthread_mutex_t lock;    /* guards what follows; never held in a call of the driver */
    pthread_cond_t wake;     /* for the thread */
    pthread_cond_t answered; /* for who waits for it */
    struct gpu_devices devices; /* does not change once it is known */
    bool known;
    bool asked; /* and not answered; so it begins */
    bool fresh; /* `sample` was not taken yet */
    bool slow;  /* an answer took longer than GPU_PATIENCE_MS, and none less since */
    bool stop;
    bool ended;
    bool joined;   /* the caller's own */
    bool given_up; /* nobody but the thread knows this struct any more */
    int64_t asked_ns, answered_ns;
    struct gpu_sample sample[GPU_MAX];
};

/* The process in which a thread was given up and has not ended. */
static _Atomic pid_t left_behind;

static void thread_free(struct gpu_thread *t)
{
    pthread_cond_destroy(&t->answered);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    free(t->sysfs);
    free(t);
}

static void tell_devices(struct gpu_thread *t)
{
    const struct gpu *gpu = &t->gpu;
    for (unsigned i = 0; i < gpu->count; i++) {
        gpu->source->info(gpu->handle, i, &t->devices.info[i]);
    }
    pthread_mutex_lock(&t->lock);
    t->devices.source = gpu->source ? gpu->source->name : "none";
    t->devices.count = gpu->count;
    t->known = true;
    t->asked = gpu->count > 0;
    t->asked_ns = clock_mono_ns();
    pthread_cond_broadcast(&t->answered);
    pthread_mutex_unlock(&t->lock);
}

/* \return false to end. */
static bool next_sample(struct gpu_thread *t)
{
    pthread_mutex_lock(&t->lock);
    while (!t->asked && !t->stop) {
        pthread_cond_wait(&t->wake, &t->lock);
    }
    bool go_on = !t->stop;
    pthread_mutex_unlock(&t->lock);
    return go_on;
}

static void answer(struct gpu_thread *t)
{
    const struct gpu *gpu = &t->gpu;
    for (unsigned i = 0; i < gpu->count; i++) {
        gpu->source->sample(gpu->handle, i, &t->reading[i]);
    }
    pthread_mutex_lock(&t->lock);
    memcpy(t->sample, t->reading, sizeof t->sample);
    t->answered_ns = clock_mono_ns();
    t->asked = false;
    t->fresh = true;
    pthread_cond_broadcast(&t->answered);
    pthread_mutex_unlock(&t->lock);
}

static void *serve_samples(void *arg)
{
    struct gpu_thread *t = arg;
    t->gpu = gpu_open(t->kind, &t->wish);
    tell_devices(t);
    while (t->gpu.count && next_sample(t)) {
        answer(t);
    }
    gpu_close(&t->gpu);
    pthread_mutex_lock(&t->lock);
    t->ended = true;
    bool alone = t->given_up;
    pthread_cond_broadcast(&t->answered);
    pthread_mutex_unlock(&t->lock);
    if (alone) {
        atomic_store_explicit(&left_behind, 0, memory_order_relaxed);
        thread_free(t);
    }
    return NULL;
}

/* One thread that hangs is enough: another one would, too. */
static bool driver_hangs(void)
{
    bool hangs = atomic_load_explicit(&left_behind, memory_order_relaxed) == getpid();
    if (hangs) {
        library_log(GPUFL_LOG_ERROR,
                    "no figures of devices: the GPU driver has not returned since an "
                    "earlier session (a session that begins once it has will have them)");
    }
    return hangs;
}

struct gpu_thread *gpu_thread_open(enum gpufl_backend_kind kind,
                                   const struct gpu_wish *wish)
{
    bool wanted = kind != GPUFL_BACKEND_NONE && !driver_hangs();
    struct gpu_thread *t = wanted ? calloc(1, sizeof *t) : NULL;
    if (!t) {
        return NULL;
    }
    t->kind = kind;
    t->wish = *wish;
    t->wish.sysfs = t->sysfs = wish->sysfs ? strdup(wish->sysfs) : NULL;
    t->asked = true;
    t->asked_ns = clock_mono_ns();
    pthread_mutex_init(&t->lock, NULL);
    thread_condition_init(&t->wake);
    thread_condition_init(&t->answered);
    if (thread_start(&t->thread, THREAD_GPU, serve_samples, t) != 0) {
        thread_free(t);
        return NULL;
    }
    return t;
}

/* Under the lock. \return false once it is \p by_ns. */
static bool wait_answer(struct gpu_thread *t, int64_t by_ns)
{
    struct timespec by = {.tv_sec = by_ns / 1000000000, .tv_nsec = by_ns % 1000000000};
    return pthread_cond_timedwait(&t->answered, &t->lock, &by) == 0;
}

static void join_once(struct gpu_thread *t)
{
    if (!t->joined) {
        t->joined = true;
        pthread_join(t->thread, NULL);
    }
}

bool gpu_thread_wait(struct gpu_thread *t, int64_t by_ns)
{
    pthread_mutex_lock(&t->lock);
    while (t->asked && wait_answer(t, by_ns)) {
    }
    bool answered = !t->asked;
    t->slow = t->slow || !answered;
    /* Without devices the thread ends by itself: join it now, as _exit joins nothing. */
    while (t->known && t->devices.count == 0 && !t->ended && wait_answer(t, by_ns)) {
    }
    bool ended = t->ended;
    pthread_mutex_unlock(&t->lock);
    if (ended) {
        join_once(t);
    }
    return answered;
}

const struct gpu_devices *gpu_thread_devices(struct gpu_thread *t, int64_t now_ns)
{
    const int64_t patience_ns = (int64_t)GPU_PATIENCE_MS * NS_PER_MS;
    pthread_mutex_lock(&t->lock);
    bool told = t->known && (!t->asked || now_ns - t->asked_ns >= patience_ns);
    pthread_mutex_unlock(&t->lock);
    return told ? &t->devices : NULL;
}

static void ask(struct gpu_thread *t, int64_t now_ns)
{
    t->asked = true;
    t->asked_ns = now_ns;
    pthread_cond_signal(&t->wake);
}

static void take_answer(struct gpu_thread *t, struct gpu_sample *out, int64_t *at_ns)
{
    memcpy(out, t->sample, sizeof t->sample);
    /* Figures that came soon are of the moment that they were asked for, as the host's.
     */
    *at_ns = t->slow ? t->answered_ns : t->asked_ns;
    t->slow = t->answered_ns - t->asked_ns > (int64_t)GPU_PATIENCE_MS * NS_PER_MS;
    t->fresh = false;
}

enum gpu_answer gpu_thread_sample(struct gpu_thread *t, int64_t now_ns,
                                  struct gpu_sample *out, int64_t *at_ns)
{
    enum gpu_answer result = GPU_ANSWERED;
    pthread_mutex_lock(&t->lock);
    if (!t->asked && !t->fresh && t->devices.count) {
        ask(t, now_ns);
    }
    while (t->asked && t->known && !t->slow &&
           wait_answer(t, now_ns + (int64_t)GPU_PATIENCE_MS * NS_PER_MS)) {
    }
    if (t->fresh) {
        take_answer(t, out, at_ns);
        if (t->slow) {
            ask(t, now_ns); /* for the next sample */
        }
    } else {
        t->slow = true;
        result = now_ns - t->asked_ns > (int64_t)GPU_LATE_MS * NS_PER_MS ? GPU_LATE
                                                                         : GPU_PENDING;
    }
    pthread_mutex_unlock(&t->lock);
    return result;
}

bool gpu_thread_close(struct gpu_thread *t, int64_t by_ns)
{
    const int64_t idle_by_ns = clock_mono_ns() + (int64_t)GPU_LATE_MS * NS_PER_MS;
    pthread_mutex_lock(&t->lock);
    /* The caller may come late itself, from a slow disk. */
    if (t->known && !t->asked && by_ns < idle_by_ns) {
        by_ns = idle_by_ns;
    }
    t->stop = true;
    pthread_cond_signal(&t->wake);
    while (!t->ended && wait_answer(t, by_ns)) {
    }
    const bool ended = t->ended;
    const pthread_t thread = t->thread;
    t->given_up = !ended;
    if (!ended) {
        atomic_store_explicit(&left_behind, getpid(), memory_order_relaxed);
    }
    pthread_mutex_unlock(&t->lock);
    if (ended) {
        join_once(t);
        thread_free(t);
    } else {
        pthread_detach(thread); /* t may be gone already */
    }
    return ended;
}
