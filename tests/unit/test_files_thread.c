/* SPDX-License-Identifier: Apache-2.0 */
/* What the job does to its descriptors does not reach those of the thread of files, nor
 * the other way round. */
#include "tests/support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector-lib/core/clock.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/own_fd.h"
#include "collector-lib/files/files_thread.h"
#include "collector-lib/files/own_table.h"
#include "schema/layout.h"
#include "tests/support/dirs.h"
#include "upload/source/liveness.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

struct file {
    char path[256];
    int fd;
    ssize_t wrote;
};

static void open_file(void *arg)
{
    struct file *f = arg;
    f->fd = open(f->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void write_file(void *arg)
{
    struct file *f = arg;
    f->wrote = write(f->fd, "ours\n", 5);
}

static void close_file(void *arg)
{
    struct file *f = arg;
    close(f->fd);
}

static void needs_table(void)
{
#ifdef __SANITIZE_THREAD__
    skip();
#endif
    if (own_table_is_filtered()) { /* as in a container */
        skip();
    }
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static struct file file_in(const char *dir, const char *name)
{
    struct file f = {.fd = -1};
    snprintf(f.path, sizeof f.path, "%s/%s", dir, name);
    return f;
}

static off_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_size : -1;
}

static void a_file_is_written_whatever_the_job_does_with_its_number(void **state)
{
    (void)state;
    needs_table();
    char *dir = dirs_make();
    struct file ours = file_in(dir, "ours");
    struct file jobs = file_in(dir, "jobs");
    open_file(&jobs);
    files_thread_begin();
    files_thread_do(open_file, &ours);
    assert_true(ours.fd >= 0);
    assert_false(is_open(ours.fd));
    assert_int_equal(dup2(jobs.fd, ours.fd), ours.fd);
    files_thread_do(write_file, &ours);
    assert_int_equal(ours.wrote, 5);
    assert_int_equal(size_of(jobs.path), 0);
    assert_int_equal(size_of(ours.path), 5);
    files_thread_do(close_file, &ours);
    assert_true(is_open(ours.fd));
    close(ours.fd);
    close(jobs.fd);
    files_thread_end();
    dirs_remove(dir);
}

static bool names_the_same(int fd, const struct stat *job)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_dev == job->st_dev && st.st_ino == job->st_ino;
}

struct standard {
    struct stat job[3];
    bool sees;
};

static void look_at_standard(void *arg)
{
    struct standard *s = arg;
    for (int fd = 0; fd < 3; fd++) {
        s->sees = s->sees || names_the_same(fd, &s->job[fd]);
    }
}

static void a_pipe_ends_as_soon_as_the_job_closes_it(void **state)
{
    (void)state;
    needs_table();
    int ends[2];
    char byte;
    struct standard standard = {0};
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    files_thread_begin();
    for (int fd = 0; fd < 3; fd++) {
        fstat(fd, &standard.job[fd]);
    }
    files_thread_do(look_at_standard, &standard);
    assert_false(standard.sees);
    close(ends[1]);
    struct pollfd end = {.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&end, 1, 0), 1);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    files_thread_end();
}

static void a_lock_that_is_open_there_is_found(void **state)
{
    (void)state;
    char *dir = dirs_make();
    struct file lock = file_in(dir, LAYOUT_LOCK);
    int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    files_thread_begin();
    files_thread_do(open_file, &lock);
    assert_true(liveness_is_open_here(at, LAYOUT_LOCK));
    files_thread_do(close_file, &lock);
    assert_false(liveness_is_open_here(at, LAYOUT_LOCK));
    files_thread_end();
    close(at);
    dirs_remove(dir);
}

static bool no_pipe;

/* In the place of that of the C library. */
int pipe2(int ends[2], int flags)
{
    if (no_pipe) {
        errno = ENFILE;
        return -1;
    }
    return (int)syscall(SYS_pipe2, ends, flags);
}

static void take_file(void *arg)
{
    struct file *f = arg;
    struct own_fd own;
    open_file(f);
    f->fd = own_fd_take(&own, f->fd) ? own.fd : -1;
}

static void files_stay_open_where_the_low_numbers_were_not_taken(void **state)
{
    (void)state;
    needs_table();
    char *dir = dirs_make();
    struct file ours = file_in(dir, "ours");
    struct rlimit usual;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    const struct rlimit few = {.rlim_cur = 256, .rlim_max = usual.rlim_max};
    no_pipe = true;
    files_thread_begin();
    files_thread_do(take_file, &ours);
    no_pipe = false;
    assert_true(ours.fd > STDERR_FILENO);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    files_thread_do(write_file, &ours);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(ours.wrote, 5);
    files_thread_end();
    dirs_remove(dir);
}

static void refuse(void *arg)
{
    (void)arg;
    errno = EDQUOT;
}

static void nest(void *arg)
{
    files_thread_do(refuse, arg);
}

static void errno_is_that_of_the_call(void **state)
{
    (void)state;
    files_thread_begin();
    errno = 0;
    files_thread_do(nest, NULL);
    assert_int_equal(errno, EDQUOT);
    files_thread_end();
}

static struct {
    pthread_t by;
    char text[64];
    _Atomic unsigned lines;
} heard;

static void hear(void *arg, enum gpufl_log_level level, const char *line)
{
    (void)arg;
    (void)level;
    heard.by = pthread_self();
    snprintf(heard.text + strlen(heard.text), sizeof heard.text - strlen(heard.text),
             "%s,", line);
    atomic_fetch_add(&heard.lines, 1);
}

/* Goes on once it was heard. */
static void say(void *arg)
{
    (void)arg;
    library_log(GPUFL_LOG_WARNING, "one");
    while (atomic_load(&heard.lines) < 1) {
    }
    library_log(GPUFL_LOG_WARNING, "two");
    library_log(GPUFL_LOG_WARNING, "three");
}

static void who_waits_passes_on_what_is_said(void **state)
{
    (void)state;
    assert_int_equal(gpufl_set_log_callback(hear, NULL), GPUFL_OK);
    files_thread_begin();
    files_thread_do(say, NULL);
    assert_true(pthread_equal(heard.by, pthread_self()));
    assert_string_equal(heard.text, "one,two,three,");
    files_thread_end();
    assert_int_equal(gpufl_set_log_callback(NULL, NULL), GPUFL_OK);
}

static void hang(void *arg)
{
    _Atomic int *step = arg;
    while (atomic_load(step) == 0) {
    }
    atomic_store(step, 2);
}

static void what_hangs_is_given_up_and_awaited(void **state)
{
    (void)state;
    _Atomic int step = 0;
    files_thread_begin();
    assert_false(files_thread_do_by(hang, &step, clock_mono_ns() + 1000000));
    atomic_store(&step, 1);
    files_thread_await();
    assert_int_equal(atomic_load(&step), 2);
    errno = 0;
    files_thread_do(refuse, NULL);
    assert_int_equal(errno, EDQUOT);
    files_thread_end();
}

static void without_the_thread_calls_are_made_at_once(void **state)
{
    (void)state;
    errno = 0;
    files_thread_do(refuse, NULL);
    assert_int_equal(errno, EDQUOT);
}

static void a_forked_child_has_no_file_of_the_session(void **state)
{
    (void)state;
    needs_table();
    char *dir = dirs_make();
    struct file ours = file_in(dir, "ours");
    files_thread_begin();
    files_thread_do(open_file, &ours);
    pid_t child = fork();
    if (child == 0) {
        bool has = files_thread_after_fork() || is_open(ours.fd);
        files_thread_do(open_file, &ours);
        files_thread_do(write_file, &ours);
        _exit(has || ours.wrote != 5);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(size_of(ours.path), 5);
    files_thread_end();
    dirs_remove(dir);
}

/* For the call, which must not be made, and for prctl(2) but to name a thread. */
static bool kill_for_tables(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_NAME, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog filter = {sizeof code / sizeof code[0], code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* \return whether the job sees what the thread opens, in a child that \p prepares. */
static bool child_shares(bool (*prepares)(void))
{
    char *dir = dirs_make();
    struct file ours = file_in(dir, "ours");
    pid_t child = fork();
    if (child == 0) {
        files_thread_after_fork(); /* a test that failed may have left it running */
        bool prepared = prepares();
        files_thread_begin();
        files_thread_do(open_file, &ours);
        bool shares = is_open(ours.fd) && files_thread_after_fork();
        _exit(!prepared ? 2 : shares ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    dirs_remove(dir);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 2);
    return WEXITSTATUS(status);
}

static void what_opens_and_closes_may_do_so_apart(void **state)
{
    (void)state;
    needs_table();
    char *dir = dirs_make();
    struct file ours = file_in(dir, "ours");
    files_thread_begin();
    files_thread_do(close_file, &ours); /* it has its table by then */
    files_thread_call_apart(THREAD_GPU, open_file, &ours);
    assert_true(ours.fd >= 0);
    assert_false(is_open(ours.fd));
    assert_int_equal(size_of(ours.path), 0);
    files_thread_end();
    dirs_remove(dir);
}

static bool open_queue(void)
{
    char name[64];
    snprintf(name, sizeof name, "/gpufl-test-%d", (int)getpid());
    mqd_t queue = mq_open(name, O_RDONLY | O_CREAT | O_EXCL, 0600, NULL);
    mq_unlink(name);
    return queue >= 0;
}

static bool open_nothing(void)
{
    return true;
}

static void where_no_table_is_to_be_had_that_of_the_job_does(void **state)
{
    (void)state;
    needs_table();
    assert_false(child_shares(open_nothing));
    assert_true(child_shares(kill_for_tables));
}

static void a_message_queue_of_the_job_is_not_copied(void **state)
{
    (void)state;
    if (open_queue()) {
        assert_true(child_shares(open_queue));
    } else { /* a kernel, or a container, without them */
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_written_whatever_the_job_does_with_its_number),
        cmocka_unit_test(a_pipe_ends_as_soon_as_the_job_closes_it),
        cmocka_unit_test(a_lock_that_is_open_there_is_found),
        cmocka_unit_test(files_stay_open_where_the_low_numbers_were_not_taken),
        cmocka_unit_test(errno_is_that_of_the_call),
        cmocka_unit_test(who_waits_passes_on_what_is_said),
        cmocka_unit_test(what_hangs_is_given_up_and_awaited),
        cmocka_unit_test(without_the_thread_calls_are_made_at_once),
        cmocka_unit_test(a_forked_child_has_no_file_of_the_session),
        cmocka_unit_test(where_no_table_is_to_be_had_that_of_the_job_does),
        cmocka_unit_test(what_opens_and_closes_may_do_so_apart),
        cmocka_unit_test(a_message_queue_of_the_job_is_not_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
