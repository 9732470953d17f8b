/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's own threads inside the job's process. */
#ifndef GPUFL_COLLECTOR_CORE_THREAD_H
#define GPUFL_COLLECTOR_CORE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/** Each kind of thread of ours, and the name that top -H shows. */
enum thread_kind {
    THREAD_WRITER,  /* gpufl-writer */
    THREAD_GPU,     /* gpufl-gpu */
    THREAD_SLOW,    /* gpufl-slow */
    THREAD_SAMPLES, /* gpufl-samples */
    THREAD_FILES,   /* gpufl-files */
    THREAD_TRACE,   /* gpufl-trace */
    THREAD_LAST,    /* gpufl-last */
};

/** Starts \p run(\p arg) with all signals blocked, since they are meant for the job, with
 * no real-time policy, and with the job's default of stack, but at least 1 MiB and at
 * most 8 MiB; that of files has 1 MiB. \return 0 or an errno. */
int thread_start(pthread_t *out, enum thread_kind kind, void *(*run)(void *), void *arg);

/** Whether a thread of this kind has this name. */
bool thread_name_is(const char *name, enum thread_kind kind);

/** Whether a thread of ours has this name. */
bool thread_name_is_ours(const char *name);

#define THREAD_NAME_BYTES 16

/** Before the program's code is called: threads that it makes inherit the name, and are
 * the job's. On a thread of ours the program's name is set, \p ours is the one that it
 * had and true is returned; then thread_rename() is due after the call. */
bool thread_lend(char ours[THREAD_NAME_BYTES]);

/** Names this thread \p name. */
void thread_rename(const char *name);

/** What a thread of the job is called, and the signals that it blocks. */
struct thread_guise {
    char name[THREAD_NAME_BYTES];
    sigset_t mask;
};

/** Until thread_resume(), this thread of the job has a name of ours, and all signals are
 * blocked: threads that a library makes meanwhile inherit both. It remains the job's. Not
 * on a thread of ours: the loader's lock may be this one's. */
void thread_pose(enum thread_kind kind, struct thread_guise *was);
void thread_resume(const struct thread_guise *was);

/** Whether a thread of the job has a name of ours. */
bool thread_poses(void);

/** In the child of a fork: none does. */
void thread_after_fork(void);

/** Initialises a condition that uses the monotonic clock, so that a step of the wall
 * clock does not disturb a wait. */
void thread_condition_init(pthread_cond_t *condition);

/** Locks, if it becomes free within \p ms, whatever is done to the clock of the day.
 * \return as pthread_mutex_timedlock. */
int thread_lock_within(pthread_mutex_t *lock, uint64_t ms);

/** Likewise joins a thread that ends by \p by_ns of clock_mono_ns(). */
int thread_join_by(pthread_t thread, int64_t by_ns);

#endif
