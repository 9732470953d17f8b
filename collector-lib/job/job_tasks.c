/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/self/task. A thread inherits the name of the one that makes it, so those
 * that the GPU's driver makes for us have ours. */
#include "collector-lib/job/job_tasks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector-lib/core/own_fd.h"
#include "collector-lib/core/thread.h"

#define SIGNALS      64
#define STAT_BYTES   1024 /* 52 numbers */
#define KEEP_WAIT_MS 100
/* Numbers of proc(5) behind the state. */
#define STAT_FLAGS   6
#define STAT_THREADS 17
#define STAT_STATUS  49
/* Of linux/sched.h: a thread of io_uring, since Linux 5.12 one of the process. Those of
 * vhost, which no job has, lack it: what they have, PF_USER_WORKER, is what threads of a
 * job could have before 5.18 (PF_USED_ASYNC). */
#define PF_IO_WORKER 0x10

static struct {
    pthread_mutex_t lock;
    struct spare_fds spare;
    struct own_fd main; /* its stat, at which is looked each second */
    bool keeps;
} tasks = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .spare = SPARE_FDS_NONE, .main = OWN_FD_NONE};

static int open_of_task(const char *task, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%.20s/%s", task, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* \return JOB_TASK_UNKNOWN with errno. */
static enum job_task read_stat(const char *task, char text[STAT_BYTES])
{
    struct own_fd file;
    ssize_t n = own_fd_take_briefly(&file, open_of_task(task, "stat"))
                    ? read(file.fd, text, STAT_BYTES - 1)
                    : -1;
    int reason = errno;
    own_fd_close(&file);
    if (n < 0) {
        errno = reason;
        return reason == ENOENT || reason == ESRCH ? JOB_TASK_GONE : JOB_TASK_UNKNOWN;
    }
    text[n] = '\0';
    return JOB_TASK_JOBS;
}

/* The number that is so far behind the state; 0 = there is none. */
static unsigned long number_of_stat(const char *text, int behind_state)
{
    const char *at = strrchr(text, ')');
    at = at && at[1] ? at + 2 : NULL;
    for (int number = 0; at && number < behind_state; number++) {
        at = strchr(at + 1, ' ');
    }
    return at ? strtoul(at, NULL, 10) : 0;
}

/* proc(5): its number, its name in parentheses, its state. */
static enum job_task task_of_stat(const char *text, char name[THREAD_NAME_BYTES])
{
    const char *begin = strchr(text, '(');
    const char *end = strrchr(text, ')');
    if (!begin || !end || end[1] != ' ') {
        return JOB_TASK_UNKNOWN;
    }
    if (end[2] == 'Z') {
        return JOB_TASK_ENDED;
    }
    if (number_of_stat(text, STAT_FLAGS) & PF_IO_WORKER) {
        return JOB_TASK_KERNELS;
    }
    snprintf(name, THREAD_NAME_BYTES, "%.*s", (int)(end - begin - 1), begin + 1);
    return thread_name_is_ours(name) ? JOB_TASK_OURS : JOB_TASK_JOBS;
}

static enum job_task look_at_named(const char *task, char name[THREAD_NAME_BYTES])
{
    char text[STAT_BYTES];
    enum job_task what = read_stat(task, text);
    return what == JOB_TASK_JOBS ? task_of_stat(text, name) : what;
}

static enum job_task look_at_task(const char *task)
{
    char name[THREAD_NAME_BYTES];
    return look_at_named(task, name);
}

/* Numbers in /proc are of the namespace that was mounted there, which may be another one
 * than ours: then they are not those of getpid() and gettid(). \return \p name. */
static const char *task_name_of(const char *link, pid_t otherwise,
                                char name[TASK_NAME_BYTES])
{
    char target[64];
    ssize_t len = readlink(link, target, sizeof target - 1);
    target[len > 0 ? len : 0] = '\0';
    const char *last = strrchr(target, '/');
    last = last ? last + 1 : target;
    if (*last) {
        snprintf(name, TASK_NAME_BYTES, "%.*s", TASK_NAME_BYTES - 1, last);
    } else {
        snprintf(name, TASK_NAME_BYTES, "%d", (int)otherwise);
    }
    return name;
}

static const char *name_main(char task[TASK_NAME_BYTES])
{
    return task_name_of("/proc/self", getpid(), task);
}

const char *job_tasks_name_this(char task[TASK_NAME_BYTES])
{
    return task_name_of("/proc/thread-self", gettid(), task);
}

/* As read_stat() does. */
static enum job_task read_stat_of_main(char text[STAT_BYTES])
{
    char task[TASK_NAME_BYTES];
    ssize_t n =
        own_fd_is_ours(&tasks.main) ? pread(tasks.main.fd, text, STAT_BYTES - 1, 0) : -1;
    if (n <= 0) {
        return read_stat(name_main(task), text);
    }
    text[n] = '\0';
    return JOB_TASK_JOBS;
}

static enum job_task look_at_main(void)
{
    char name[THREAD_NAME_BYTES];
    char text[STAT_BYTES];
    enum job_task what = read_stat_of_main(text);
    return what == JOB_TASK_JOBS ? task_of_stat(text, name) : what;
}

/* 0 = not known. */
static unsigned long stat_of_main(int behind_state)
{
    char text[STAT_BYTES];
    bool known = read_stat_of_main(text) == JOB_TASK_JOBS;
    return known ? number_of_stat(text, behind_state) : 0;
}

/* Main is looked at before. Another one that is about to end, or is gone since it was
 * listed, may have made one that is not listed: /proc goes on by its position among those
 * that are there. Then they are looked at later, as if the job had one. */
static enum job_task look_for_job(const char *task)
{
    char main[TASK_NAME_BYTES];
    if (strcmp(task, name_main(main)) == 0) {
        return JOB_TASK_ENDED;
    }
    enum job_task what = look_at_task(task);
    bool none = what == JOB_TASK_OURS || what == JOB_TASK_KERNELS;
    bool holds = what == JOB_TASK_GONE || what == JOB_TASK_ENDED;
    return none ? JOB_TASK_ENDED : holds ? JOB_TASK_JOBS : what;
}

static enum job_task look_for_first(const char *task)
{
    char name[THREAD_NAME_BYTES];
    char this[TASK_NAME_BYTES];
    bool is_one = look_at_named(task, name) == JOB_TASK_OURS &&
                  thread_name_is(name, THREAD_LAST) &&
                  strtol(task, NULL, 10) < strtol(job_tasks_name_this(this), NULL, 10);
    return is_one ? JOB_TASK_OURS : JOB_TASK_ENDED;
}

struct task_listing {
    enum job_task (*look)(const char *task);
    enum job_task found; /* first; or else JOB_TASK_ENDED */
    unsigned long count;
};

static void look_at_entries(struct task_listing *list, const char *entries, size_t len)
{
    for (size_t at = 0; list->found == JOB_TASK_ENDED && at < len;) {
        const struct dirent64 *e = (const void *)(entries + at);
        if (e->d_name[0] != '.') {
            list->found = list->look(e->d_name);
            list->count++;
        }
        at += e->d_reclen;
    }
}

/* By getdents64(2), since there may be no memory, as opendir(3) needs it. */
static void look_at_each(struct task_listing *list)
{
    struct own_fd folder;
    char entries[2048];
    ssize_t len = 1;
    if (!own_fd_take_briefly(
            &folder, open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC))) {
        list->found = JOB_TASK_UNKNOWN;
        return;
    }
    while (list->found == JOB_TASK_ENDED && len > 0) {
        len = getdents64(folder.fd, entries, sizeof entries);
        if (len < 0) {
            list->found = JOB_TASK_UNKNOWN;
        } else {
            look_at_entries(list, entries, (size_t)len);
        }
    }
    int reason = errno;
    own_fd_close(&folder);
    errno = reason;
}

/* A list ends early where a thread ends just then: those that are listed must be all that
 * there are, or else they are looked at later. */
static enum job_task look_at_others(void)
{
    struct task_listing list = {.look = look_for_job};
    look_at_each(&list);
    bool whole = list.found != JOB_TASK_ENDED || list.count == stat_of_main(STAT_THREADS);
    return whole ? list.found : JOB_TASK_JOBS;
}

static enum job_task look_for_leader(void)
{
    struct task_listing list = {.look = look_for_first};
    look_at_each(&list);
    return list.found;
}

static enum job_task look_for_jobs(bool main_left)
{
    enum job_task what = look_at_main();
    bool left = what == JOB_TASK_ENDED || what == JOB_TASK_GONE ||
                (what == JOB_TASK_UNKNOWN && main_left);
    return left ? look_at_others() : what;
}

/* \return whether what has failed can be done again, with the descriptors that are kept.
 */
static bool give_back_spare(void)
{
    bool lacks = (errno == EMFILE || errno == ENFILE) && !own_fd_is_apart();
    if (lacks) {
        spare_fds_close(&tasks.spare);
    }
    return lacks;
}

/* Those in reserve come first: if they cannot be had, nor can the other one. */
static void take_kept(void)
{
    char task[TASK_NAME_BYTES];
    spare_fds_take(&tasks.spare);
    if (!own_fd_is_ours(&tasks.main)) {
        own_fd_take(&tasks.main, open_of_task(name_main(task), "stat"));
    }
}

static void close_kept(void)
{
    spare_fds_close(&tasks.spare);
    own_fd_close(&tasks.main);
}

static void end_look(void)
{
    int reason = errno;
    if (tasks.keeps && !own_fd_is_apart()) {
        take_kept();
    }
    pthread_mutex_unlock(&tasks.lock);
    errno = reason;
}

enum job_task job_tasks_look(bool main_left)
{
    if (thread_poses()) {
        return JOB_TASK_JOBS;
    }
    pthread_mutex_lock(&tasks.lock);
    enum job_task what = look_for_jobs(main_left);
    if (what == JOB_TASK_UNKNOWN && give_back_spare()) {
        what = look_for_jobs(main_left);
    }
    end_look();
    return what;
}

bool job_tasks_last_is_first(void)
{
    pthread_mutex_lock(&tasks.lock);
    enum job_task what = look_for_leader();
    if (what == JOB_TASK_UNKNOWN && give_back_spare()) {
        what = look_for_leader();
    }
    end_look();
    return what != JOB_TASK_OURS;
}

/* proc(5): "SigBlk:", and a number in hexadecimal. The line of all groups of the user is
 * before it. */
static bool read_mask(int fd, uint64_t *blocked)
{
    static const char key[] = "\nSigBlk:";
    char text[2048];
    const char *found = NULL;
    ssize_t n = 1;
    for (off_t at = 0; !found && n > 0; at += n > 64 ? n - 64 : n) {
        n = pread(fd, text, sizeof text - 1, at);
        text[n > 0 ? n : 0] = '\0';
        found = strstr(text, key);
        found = found && strchr(found + 1, '\n') ? found : NULL;
    }
    *blocked = found ? strtoull(found + sizeof key - 1, NULL, 16) : 0;
    return found;
}

static bool look_at_mask(uint64_t *blocked)
{
    char task[TASK_NAME_BYTES];
    struct own_fd file;
    if (!own_fd_take_briefly(&file, open_of_task(name_main(task), "status"))) {
        return false;
    }
    bool known = read_mask(file.fd, blocked);
    own_fd_close(&file);
    errno = 0;
    return known;
}

bool job_tasks_mask_of_main(sigset_t *mask)
{
    uint64_t blocked;
    pthread_mutex_lock(&tasks.lock);
    bool known = look_at_mask(&blocked) || (give_back_spare() && look_at_mask(&blocked));
    end_look();
    sigemptyset(mask);
    for (int signal = 1; known && signal <= SIGNALS; signal++) {
        if (blocked >> (signal - 1) & 1) {
            sigaddset(mask, signal);
        }
    }
    return known;
}

int job_tasks_status_of_main(void)
{
    pthread_mutex_lock(&tasks.lock);
    errno = 0;
    int status = (int)stat_of_main(STAT_STATUS);
    if (errno && give_back_spare()) {
        status = (int)stat_of_main(STAT_STATUS);
    }
    end_look();
    return status;
}

/* Who looks may hang. */
void job_tasks_keep(bool keep)
{
    if (thread_lock_within(&tasks.lock, KEEP_WAIT_MS) != 0) {
        return;
    }
    tasks.keeps = keep;
    if (keep) {
        spare_fds_take(&tasks.spare);
    } else {
        close_kept();
    }
    pthread_mutex_unlock(&tasks.lock);
}

void job_tasks_after_fork(void)
{
    pthread_mutex_init(&tasks.lock, NULL);
    close_kept();
    tasks.keeps = false;
}
