/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/self/task. A thread inherits the name of the one that makes it, so those
 * that the GPU's driver makes for us have ours. */
#include "collector-lib/core/job_threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector-lib/core/clock.h"
#include "collector-lib/core/fork_guard.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/own_fd.h"
#include "collector-lib/core/thread.h"

#define ROUND_NS     100000000
#define BLIND_ROUNDS 10 /* until what cannot be looked at is taken for hidden */

static struct {
    pthread_mutex_t looking; /* for the descriptors */
    struct spare_fds spare;  /* while a session runs, or something is left behind */
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
    bool watched;
    sigset_t mask; /* of main, or of who began a session */
} job = {.looking = PTHREAD_MUTEX_INITIALIZER,
         .once = PTHREAD_ONCE_INIT,
         .lock = PTHREAD_MUTEX_INITIALIZER,
         .spare = SPARE_FDS_NONE};

enum task { TASK_ENDED, TASK_GONE, TASK_OURS, TASK_JOBS, TASK_UNKNOWN };

/* \return TASK_UNKNOWN, with errno, for one that cannot be looked at: it may be there. */
static enum task read_task(const char *task, char text[128])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", task);
    struct own_fd file;
    ssize_t n = own_fd_take_briefly(&file, open(path, O_RDONLY | O_CLOEXEC))
                    ? read(file.fd, text, 127)
                    : -1;
    int reason = errno;
    own_fd_close(&file);
    if (n < 0) {
        errno = reason;
        return reason == ENOENT || reason == ESRCH ? TASK_GONE : TASK_UNKNOWN;
    }
    text[n] = '\0';
    return TASK_JOBS;
}

/* proc(5): its number, its name in parentheses, its state. */
static enum task look_at_task(const char *task)
{
    char text[128];
    enum task what = read_task(task, text);
    if (what != TASK_JOBS) {
        return what;
    }
    const char *begin = strchr(text, '(');
    const char *end = strrchr(text, ')');
    if (!begin || !end || end[1] != ' ') {
        return TASK_UNKNOWN;
    }
    if (end[2] == 'Z') {
        return TASK_ENDED;
    }
    char name[16];
    snprintf(name, sizeof name, "%.*s", (int)(end - begin - 1), begin + 1);
    return thread_name_is_ours(name) ? TASK_OURS : TASK_JOBS;
}

static enum task look_at_main(void)
{
    char task[24];
    snprintf(task, sizeof task, "%d", (int)getpid());
    return look_at_task(task);
}

/* One that is gone since it was listed may have made another one, which is not listed:
 * /proc goes on by its position among those that are there. Then they are looked at
 * later, as if the job had one. */
static enum task look_at_entries(const char *entries, size_t len)
{
    enum task found = TASK_ENDED;
    for (size_t at = 0; found == TASK_ENDED && at < len;) {
        const struct dirent64 *e = (const void *)(entries + at);
        enum task what = e->d_name[0] == '.' ? TASK_ENDED : look_at_task(e->d_name);
        bool holds = what == TASK_GONE || what == TASK_JOBS;
        found = what == TASK_UNKNOWN ? what : holds ? TASK_JOBS : found;
        at += e->d_reclen;
    }
    return found;
}

/* By getdents64(2), since there may be no memory, as opendir(3) needs it. \return what
 * the first one is that may hold up the end, or else TASK_ENDED. */
static enum task look_at_others(void)
{
    enum task what = TASK_ENDED;
    struct own_fd folder;
    char entries[2048];
    ssize_t len = 1;
    if (!own_fd_take_briefly(
            &folder, open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC))) {
        return TASK_UNKNOWN;
    }
    while (what == TASK_ENDED && len > 0) {
        len = getdents64(folder.fd, entries, sizeof entries);
        what = len < 0 ? TASK_UNKNOWN : look_at_entries(entries, (size_t)len);
    }
    int reason = errno;
    own_fd_close(&folder);
    errno = reason;
    return what;
}

/* Main may have said that it ends where it cannot be looked at. */
static enum task look_at_all(void)
{
    enum task what = look_at_main();
    bool main_left = what == TASK_ENDED || what == TASK_GONE ||
                     (what == TASK_UNKNOWN && atomic_load(&job.main_left));
    return main_left ? look_at_others() : what;
}

/* \return TASK_UNKNOWN, with errno, if it cannot be told. */
static enum task look_for_jobs(void)
{
    pthread_mutex_lock(&job.looking);
    enum task what = look_at_all();
    if (what == TASK_UNKNOWN && (errno == EMFILE || errno == ENFILE)) {
        spare_fds_close(&job.spare);
        what = look_at_all();
    }
    int reason = errno;
    if (atomic_load(&job.session) || atomic_load(&job.left_behind)) {
        spare_fds_take(&job.spare);
    }
    pthread_mutex_unlock(&job.looking);
    errno = reason;
    return what;
}

bool job_threads_are_gone(void)
{
    return look_for_jobs() == TASK_ENDED;
}

static void take_mains_signals(void)
{
    pthread_mutex_lock(&job.lock);
    sigset_t mask = job.mask;
    pthread_mutex_unlock(&job.lock);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void job_threads_exit(void)
{
    if (!atomic_exchange(&job.leaving, true)) {
        take_mains_signals();
        exit(EXIT_SUCCESS);
    }
}

/* Without threads of ours, the C library sees the end of the job's. What hangs stays:
 * then a signal can end the process, as if main were there. */
static void leave_unseen(int reason)
{
    take_mains_signals();
    if (atomic_load(&job.session)) {
        library_log(
            GPUFL_LOG_WARNING,
            "the session ends with the main thread, which has left: whether other "
            "threads of the job go on is not known, as /proc/self/task cannot be "
            "read: %s",
            strerror(reason));
        job.end_session();
    }
}

/* Of a look that fails once nothing follows. */
static void watch_once(unsigned *blind)
{
    enum task what = look_for_jobs();
    bool unseen = what == TASK_UNKNOWN && atomic_load(&job.main_left);
    *blind = unseen ? *blind + 1 : 0;
    if (what == TASK_ENDED) {
        job_threads_exit();
    } else if (*blind == BLIND_ROUNDS) {
        leave_unseen(errno);
    }
}

static bool is_wanted(void)
{
    return atomic_load(&job.session) || atomic_load(&job.left_behind);
}

/* Ends with the session, so that nothing of ours is there that keeps the process. */
static void *watch(void *arg)
{
    unsigned blind = 0;
    (void)arg;
    pthread_mutex_lock(&job.lock);
    while (is_wanted()) {
        pthread_mutex_unlock(&job.lock);
        watch_once(&blind);
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
    return NULL;
}

static bool start_watch(void)
{
    pthread_t thread;
    pthread_mutex_lock(&job.lock);
    if (!job.watched && thread_start(&thread, THREAD_LAST, watch, NULL) == 0) {
        pthread_detach(thread);
        job.watched = true;
    }
    bool watched = job.watched;
    pthread_mutex_unlock(&job.lock);
    return watched;
}

bool job_threads_watch(void)
{
    atomic_store(&job.left_behind, true);
    return start_watch();
}

static void note_mask(void)
{
    pthread_mutex_lock(&job.lock);
    pthread_sigmask(SIG_SETMASK, NULL, &job.mask);
    pthread_mutex_unlock(&job.lock);
}

static void on_main_end(void *arg)
{
    (void)arg;
    note_mask();
    atomic_store(&job.main_left, true);
    if (atomic_load(&job.session)) {
        start_watch();
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
    pthread_mutex_lock(&job.looking);
    spare_fds_take(&job.spare);
    pthread_mutex_unlock(&job.looking);
    fork_guard_leave();
    if (!job.main_keyed || atomic_load(&job.main_left)) {
        start_watch();
    }
}

void job_threads_end(void)
{
    atomic_store(&job.session, false);
    if (!atomic_load(&job.left_behind)) {
        pthread_mutex_lock(&job.looking);
        spare_fds_close(&job.spare);
        pthread_mutex_unlock(&job.looking);
    }
    pthread_mutex_lock(&job.lock);
    pthread_cond_signal(&job.wake);
    pthread_mutex_unlock(&job.lock);
}

void job_threads_after_fork(void)
{
    pthread_mutex_init(&job.looking, NULL);
    pthread_mutex_init(&job.lock, NULL);
    thread_condition_init(&job.wake);
    spare_fds_close(&job.spare);
    job.main_keyed = job.keyed && pthread_getspecific(job.main_end);
    job.watched = false;
    atomic_store(&job.main_left, false);
    atomic_store(&job.session, false);
    atomic_store(&job.left_behind, false);
    atomic_store(&job.leaving, false);
}
