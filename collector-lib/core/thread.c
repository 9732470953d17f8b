/* SPDX-License-Identifier: Apache-2.0 */
/* Starts threads that take no signals, whatever defaults the job has set, and makes
 * conditions on the monotonic clock. */
#include "collector-lib/core/thread.h"

#include <errno.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/held_floats.h"
#include "collector-lib/core/clock.h"
#include "schema/layout.h"

#define NS_PER_S  1000000000L
#define NS_PER_MS 1000000L

#define THREAD_CONSTRUCTOR 101 /* before those that begin a session */

/* In full, since a job may be called gpufl-something itself. */
static const char *const names[] = {
    [THREAD_WRITER] = "gpufl-writer",     [THREAD_GPU] = "gpufl-gpu",
    [THREAD_SLOW] = "gpufl-slow",         [THREAD_SAMPLES] = "gpufl-samples",
    [THREAD_FILES] = LAYOUT_FILES_THREAD, [THREAD_TRACE] = "gpufl-trace",
    [THREAD_LAST] = "gpufl-last"};

bool thread_name_is(const char *name, enum thread_kind kind)
{
    return strcmp(name, names[kind]) == 0;
}

bool thread_name_is_ours(const char *name)
{
    bool ours = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        ours |= thread_name_is(name, (enum thread_kind)i);
    }
    return ours;
}

/* For what our threads call: CUPTI, NVML, the program's log function. */
#define STACK_MIN_BYTES ((size_t)1 << 20)
/* The default of most systems. A job that raises its own (ulimit -s) does so for what its
 * threads do, and may have a limit of its address space (ulimit -v). */
#define STACK_MAX_BYTES ((size_t)8 << 20)

/* What glibc takes off each thread's stack: the thread-local variables of the program and
 * of the libraries that are loaded with it. */
static size_t tls_bytes;

static int add_tls(struct dl_phdr_info *object, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        tls_bytes += part->p_type == PT_TLS ? part->p_memsz + part->p_align : 0;
    }
    return 0;
}

/* Here the loader's lock is ours, which others may hold for long. */
__attribute__((constructor(THREAD_CONSTRUCTOR))) static void measure_tls(void)
{
    tls_bytes = 0;
    dl_iterate_phdr(add_tls, NULL);
}

/* Of the defaults that a job can set by pthread_setattr_default_np, only the size of the
 * stack is taken, within these limits: glibc takes all of them for a thread without
 * attributes. What runs on that of files is ours. */
static int attributes_init(pthread_attr_t *attr, enum thread_kind kind)
{
    size_t bytes = 0;
    int rc = pthread_attr_init(attr);
    if (rc == 0 && pthread_attr_getstacksize(attr, &bytes) == 0) {
        bytes = bytes < STACK_MIN_BYTES || kind == THREAD_FILES ? STACK_MIN_BYTES
                : bytes < STACK_MAX_BYTES                       ? bytes
                                                                : STACK_MAX_BYTES;
        pthread_attr_setstacksize(attr, bytes + tls_bytes);
    }
    return rc;
}

void thread_rename(const char *name)
{
    pthread_setname_np(pthread_self(), name);
}

struct thread_begin {
    enum thread_kind kind;
    void *(*run)(void *);
    void *arg;
};

/* A thread inherits the policy of the one that makes it. One of a real-time policy would
 * take the processor from threads of the job that have another, or a lower priority.
 * With SCHED_RESET_ON_FORK, it is not inherited. */
static void leave_real_time(void)
{
    const struct sched_param none = {.sched_priority = 0};
    int policy = sched_getscheduler(0);
    if (policy == SCHED_FIFO || policy == SCHED_RR) {
        pthread_setschedparam(pthread_self(), SCHED_OTHER, &none);
    }
}

/* A thread names itself: another one needs a descriptor for that. */
static void *run_named(void *arg)
{
    const struct thread_begin begin = *(struct thread_begin *)arg;
    struct held_floats of_job;
    free(arg);
    held_floats_begin(&of_job); /* which it has inherited */
    leave_real_time();
    thread_rename(names[begin.kind]);
    return begin.run(begin.arg);
}

static int start_with(pthread_t *out, const pthread_attr_t *attr,
                      const struct thread_begin *wanted)
{
    struct thread_begin *begin = malloc(sizeof *begin);
    if (!begin) {
        return ENOMEM;
    }
    *begin = *wanted;
    int rc = pthread_create(out, attr, run_named, begin);
    if (rc != 0) {
        free(begin);
    }
    return rc;
}

int thread_start(pthread_t *out, enum thread_kind kind, void *(*run)(void *), void *arg)
{
    pthread_attr_t attr;
    int rc = attributes_init(&attr, kind);
    if (rc != 0) {
        return rc;
    }
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = start_with(out, &attr, &(struct thread_begin){kind, run, arg});
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return rc;
}

bool thread_lend(char ours[THREAD_NAME_BYTES])
{
    char jobs[THREAD_NAME_BYTES];
    if (pthread_getname_np(pthread_self(), ours, THREAD_NAME_BYTES) != 0 ||
        !thread_name_is_ours(ours)) {
        return false;
    }
    snprintf(jobs, sizeof jobs, "%s", program_invocation_short_name);
    thread_rename(jobs);
    return true;
}

static _Atomic unsigned posing;

void thread_pose(enum thread_kind kind, struct thread_guise *was)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was->mask);
    if (pthread_getname_np(pthread_self(), was->name, sizeof was->name) != 0) {
        was->name[0] = '\0';
    }
    atomic_fetch_add(&posing, 1);
    thread_rename(names[kind]);
}

void thread_resume(const struct thread_guise *was)
{
    if (was->name[0]) {
        thread_rename(was->name);
    }
    atomic_fetch_sub(&posing, 1);
    pthread_sigmask(SIG_SETMASK, &was->mask, NULL);
}

bool thread_poses(void)
{
    return atomic_load(&posing);
}

void thread_after_fork(void)
{
    atomic_store(&posing, 0);
}

void thread_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attr);
    pthread_condattr_destroy(&attr);
}

#ifdef __SANITIZE_THREAD__ /* gcc 12's does not know these functions */
#define WAIT_CLOCK                       CLOCK_REALTIME
#define pthread_mutex_clocklock(l, c, t) pthread_mutex_timedlock(l, t)
#define pthread_clockjoin_np(p, r, c, t) pthread_timedjoin_np(p, r, t)
#else
#define WAIT_CLOCK CLOCK_MONOTONIC
#endif

static struct timespec thread_time_in(int64_t ns)
{
    struct timespec until;
    clock_gettime(WAIT_CLOCK, &until);
    ns = ns > 0 ? ns + until.tv_nsec : until.tv_nsec;
    until.tv_sec += (time_t)(ns / NS_PER_S);
    until.tv_nsec = (long)(ns % NS_PER_S);
    return until;
}

int thread_lock_within(pthread_mutex_t *lock, uint64_t ms)
{
    const struct timespec until = thread_time_in((int64_t)ms * NS_PER_MS);
    return pthread_mutex_clocklock(lock, WAIT_CLOCK, &until);
}

int thread_join_by(pthread_t thread, int64_t by_ns)
{
    const struct timespec until = thread_time_in(by_ns - clock_mono_ns());
    return pthread_clockjoin_np(thread, NULL, WAIT_CLOCK, &until);
}
