/* SPDX-License-Identifier: Apache-2.0 */
/* A thread watches for the end of the job's once main has left: it ends the process as
 * the C library would without threads of ours. */
#include "collector-lib/job/job_threads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/message.h"
#include "collector-lib/core/clock.h"
#include "collector-lib/core/fork_guard.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/thread.h"
#include "collector-lib/files/files_thread.h"
#include "collector-lib/job/job_tasks.h"

#define APART_MS       50 /* or else the disk hangs */
#define ROUND_NS       100000000
#define ROUNDS         10 /* until what cannot be looked at, or waits, will not change */
#define JOIN_PATIENCE  1000000000
#define RETRY_NS       10000000
#define RETRY_PATIENCE 2000000000

static struct {
    pthread_key_t main_end;
    bool keyed;
    bool main_keyed; /* main will say that it ends */
    _Atomic bool main_left;
    _Atomic bool session;
    _Atomic bool left_behind; /* to the end of the process */
    _Atomic bool leaving;
    void (*end_session)(void);
    pthread_once_t once;
    pthread_mutex_t lock; /* of those below */
    pthread_cond_t wake;
    bool watched;  /* the watcher goes on */
    bool unjoined; /* and it has a handle */
    pthread_t watcher;
    bool noted;
    sigset_t
        mask; /* of main, as far as it is known; or else of who has begun a session */
} job = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

struct look {
    enum job_task found;
    int reason;
};

static void take_look(void *arg)
{
    struct look *look = arg;
    look->found = job_tasks_look(atomic_load(&job.main_left));
    look->reason = errno;
}

/* In its own table, the thread of files opens what the job would not let us. */
static enum job_task look_at_job(void)
{
    struct look look;
    if (!files_thread_try(take_look, &look, APART_MS) || look.found == JOB_TASK_UNKNOWN) {
        take_look(&look);
    }
    errno = look.reason;
    return look.found;
}

bool job_threads_are_gone(void)
{
    return look_at_job() == JOB_TASK_ENDED;
}

static void note_mask(void)
{
    sigset_t mask;
    bool of_main = gettid() == getpid();
    bool known = !of_main && job_tasks_mask_of_main(&mask);
    if (!known) {
        pthread_sigmask(SIG_SETMASK, NULL, &mask);
    }
    pthread_mutex_lock(&job.lock);
    if (known || of_main || !job.noted) {
        job.noted = true;
        job.mask = mask;
    }
    pthread_mutex_unlock(&job.lock);
}

static sigset_t noted_mask(void)
{
    pthread_mutex_lock(&job.lock);
    sigset_t mask = job.mask;
    pthread_mutex_unlock(&job.lock);
    return mask;
}

/* On a thread of ours. What main has said at its end is final. */
static void take_mains_signals(void)
{
    if (!atomic_load(&job.main_left)) {
        note_mask();
    }
    sigset_t mask = noted_mask();
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* No handler runs then without threads of ours either. */
static void end_by_signal(int signal_number)
{
    sigset_t one;
    job.end_session();
    sigemptyset(&one);
    sigaddset(&one, signal_number);
    signal(signal_number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    kill(getpid(), signal_number);
}

/* There may be two libraries in a process, as one is linked in and another one loaded. */
void job_threads_exit(void)
{
    if (job_tasks_last_is_first() && !atomic_exchange(&job.leaving, true)) {
        const int status = job_tasks_status_of_main();
        take_mains_signals();
        if (WIFSIGNALED(status)) {
            end_by_signal(WTERMSIG(status));
        }
        exit(WEXITSTATUS(status));
    }
}

/* Without threads of ours, the C library sees the end of the job's. */
static void leave_unseen(int reason)
{
    if (atomic_load(&job.session)) {
        library_log(
            GPUFL_LOG_WARNING,
            "the session ends with the main thread, which has left: whether other "
            "threads of the job go on is not known, as /proc/self/task cannot be "
            "read: %s",
            message_reason(reason));
        job.end_session();
    }
}

/* What hangs stays, and so does the process: a signal that ends it is taken as if main
 * were there. But a thread of the job may wait for one by sigwait(3), or look for it now
 * and then: it goes first. What main has blocked is none of ours. */
static void take_what_waits(unsigned *rounds)
{
    static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
    const sigset_t mask = noted_mask();
    sigset_t waits;
    sigset_t left;
    sigpending(&waits);
    sigemptyset(&left);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (sigismember(&waits, ends[i]) && !sigismember(&mask, ends[i])) {
            sigaddset(&left, ends[i]);
        }
    }
    *rounds = sigisemptyset(&left) ? 0 : *rounds + 1;
    if (*rounds == ROUNDS) {
        pthread_sigmask(SIG_UNBLOCK, &left, &waits);
        pthread_sigmask(SIG_SETMASK, &waits, NULL);
    }
}

struct unseen {
    unsigned rounds; /* in which the job's threads could not be looked at */
    unsigned waits;  /* in which a signal waited */
};

static void watch_once(struct unseen *unseen)
{
    enum job_task what = look_at_job();
    int reason = errno;
    bool blind = what == JOB_TASK_UNKNOWN && atomic_load(&job.main_left);
    unseen->rounds = blind ? unseen->rounds + 1 : 0;
    if (what == JOB_TASK_ENDED) {
        job_threads_exit();
    } else if (unseen->rounds == ROUNDS) {
        leave_unseen(reason);
    } else if (unseen->rounds > ROUNDS) {
        take_what_waits(&unseen->waits);
    }
}

static bool is_wanted(void)
{
    return atomic_load(&job.session) || atomic_load(&job.left_behind);
}

/* Ends with the session, so that nothing of ours is there that keeps the process. If it
 * has ended the session itself, it may be the last thread, on which handlers of exit()
 * run. */
static void *watch(void *arg)
{
    struct unseen unseen = {0};
    (void)arg;
    pthread_mutex_lock(&job.lock);
    while (is_wanted()) {
        pthread_mutex_unlock(&job.lock);
        watch_once(&unseen);
        pthread_mutex_lock(&job.lock);
        if (is_wanted()) {
            int64_t until_ns = clock_mono_ns() + ROUND_NS;
            const struct timespec until = {.tv_sec = until_ns / 1000000000,
                                           .tv_nsec = until_ns % 1000000000};
            pthread_cond_timedwait(&job.wake, &job.lock, &until);
        }
    }
    job.watched = false;
    pthread_mutex_unlock(&job.lock);
    if (unseen.rounds >= ROUNDS) {
        take_mains_signals();
    }
    return NULL;
}

static bool start_watch(void)
{
    pthread_mutex_lock(&job.lock);
    if (!job.watched) {
        if (job.unjoined) { /* it needs the lock no more */
            pthread_join(job.watcher, NULL);
        }
        job.watched = thread_start(&job.watcher, THREAD_LAST, watch, NULL) == 0;
        job.unjoined = job.watched;
    }
    bool watched = job.watched;
    pthread_mutex_unlock(&job.lock);
    return watched;
}

bool job_threads_watch(void)
{
    atomic_store(&job.left_behind, true);
    job_tasks_keep(true);
    return start_watch();
}

/* Who ends the session goes on until the watcher has ended: the last thread is not ours,
 * and exit() has its signals. */
static void stop_watch(void)
{
    pthread_mutex_lock(&job.lock);
    pthread_cond_signal(&job.wake);
    bool joins = job.unjoined && !atomic_load(&job.left_behind) &&
                 !pthread_equal(job.watcher, pthread_self());
    pthread_mutex_unlock(&job.lock);
    if (joins && thread_join_by(job.watcher, clock_mono_ns() + JOIN_PATIENCE) == 0) {
        pthread_mutex_lock(&job.lock);
        job.unjoined = false;
        pthread_mutex_unlock(&job.lock);
    }
}

/* For a moment there may be no thread to be had. Without this one, what hangs keeps the
 * process for ever. */
static void start_watch_patiently(void)
{
    const struct timespec round = {.tv_nsec = RETRY_NS};
    const int64_t by_ns = clock_mono_ns() + RETRY_PATIENCE;
    while (!start_watch() && clock_mono_ns() < by_ns) {
        nanosleep(&round, NULL);
    }
}

static void on_main_end(void *arg)
{
    (void)arg;
    note_mask();
    atomic_store(&job.main_left, true);
    if (is_wanted()) {
        start_watch_patiently();
    }
}

static void key_main(void)
{
    if (job.keyed && gettid() == getpid()) {
        job.main_keyed = pthread_setspecific(job.main_end, &job) == 0;
    }
}

static void prepare(void)
{
    thread_condition_init(&job.wake);
    job.keyed = pthread_key_create(&job.main_end, on_main_end) == 0;
}

/* As soon as the library is there, in most programs on main, which may never call it. In
 * a static one, constructors of the program come earlier, and may call it. */
__attribute__((constructor)) static void prepare_on_main(void)
{
    pthread_once(&job.once, prepare);
    note_mask();
    key_main();
}

void job_threads_prepare(void (*end_session)(void))
{
    pthread_once(&job.once, prepare);
    job.end_session = end_session;
}

void job_threads_begin(void)
{
    if (!atomic_load(&job.main_left)) {
        note_mask();
    }
    key_main();
    atomic_store(&job.session, true);
    fork_guard_enter(); /* so that a child sees what it has to close */
    job_tasks_keep(true);
    fork_guard_leave();
    if (!job.main_keyed || atomic_load(&job.main_left)) {
        start_watch();
    }
}

void job_threads_end(void)
{
    atomic_store(&job.session, false);
    if (!atomic_load(&job.left_behind)) {
        job_tasks_keep(false);
    }
    stop_watch();
}

void job_threads_after_fork(void)
{
    job_tasks_after_fork();
    thread_after_fork();
    pthread_mutex_init(&job.lock, NULL);
    thread_condition_init(&job.wake);
    job.main_keyed = job.keyed && pthread_getspecific(job.main_end);
    job.watched = job.unjoined = job.noted = false;
    atomic_store(&job.main_left, false);
    atomic_store(&job.session, false);
    atomic_store(&job.left_behind, false);
    atomic_store(&job.leaving, false);
}
