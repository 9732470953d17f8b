/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors in a job that closes what it did not open, at the moments in which the
 * number is a low one: what is the job's is left to it. */
#include "tests/support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector-lib/core/channel_file.h"
#include "collector-lib/core/loss_marker.h"
#include "collector-lib/core/own_fd.h"
#include "tests/support/dirs.h"

#define MARKER_BYTES 512

static struct {
    bool before, after; /* the copy is made, the job closes ours, and opens its own */
    bool over;   /* behind the copy, it puts its own there, and closes the low one */
    bool opened; /* the job closes what we have just opened, and opens its own */
    bool late;   /* once the low number is closed, it puts its own on the copy */
    bool full;   /* nothing can be made */
    bool blind;  /* nothing can be looked at */
    int own;     /* its file, if another than that of job_takes() */
    int number;  /* of its own */
    int copy;    /* the last one */
} job = {.own = -1, .number = -1, .copy = -1};

static void job_takes(int number)
{
    int own = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    assert_int_equal(dup2(own, number), number);
    close(own);
    job.number = number;
}

/* In the place of that of the C library. */
int fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    long arg = va_arg(args, long);
    va_end(args);
    bool copies = command == F_DUPFD_CLOEXEC;
    if (copies && job.before) {
        job_takes(fd);
    }
    int rc = (int)syscall(SYS_fcntl, fd, command, arg);
    if (copies && job.after) {
        job_takes(fd);
    }
    if (copies && job.over) {
        job_takes(rc);
        close(fd);
    }
    job.copy = copies ? rc : job.copy;
    return rc;
}

/* In the place of that of the C library. */
int openat(int dir, const char *path, int flags, ...)
{
    if (job.full && flags & O_CREAT) {
        errno = ENOSPC;
        return -1;
    }
    int fd = (int)syscall(SYS_openat, dir, path, flags, 0600);
    if (fd >= 0 && job.opened) {
        job_takes(fd);
    }
    return fd;
}

/* In the place of that of the C library. */
int close(int fd)
{
    int rc = (int)syscall(SYS_close, fd);
    if (job.late && job.copy >= 0) {
        job.late = false;
        assert_int_equal(dup2(job.own, job.copy), job.copy);
        job.number = job.copy;
    }
    return rc;
}

/* In the place of that of the C library. */
int fstat(int fd, struct stat *st)
{
    if (job.blind) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH);
}

static void assert_left_to_job(void)
{
    assert_true(fcntl(job.number, F_GETFD, 0) >= 0);
    close(job.number);
    job.before = job.after = job.over = job.opened = job.full = false;
    job.number = -1;
}

struct place {
    char *path;
    int dir;
};

static struct place place_open(void)
{
    struct place place = {.path = dirs_make()};
    place.dir = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(place.dir >= 0);
    return place;
}

static void place_close(struct place *place)
{
    close(place->dir);
    dirs_remove(place->path);
}

/* A file of the job, as long as a loss marker, that comes under the next copy. */
static void job_waits_with_a_file(const struct place *place, char has[MARKER_BYTES])
{
    memset(has, 'j', MARKER_BYTES);
    job.own = openat(place->dir, "of-the-job", O_RDWR | O_CREAT | O_CLOEXEC);
    assert_int_equal(write(job.own, has, MARKER_BYTES), MARKER_BYTES);
    job.copy = -1;
    job.late = true;
}

static void assert_file_is_left_to_job(const char has[MARKER_BYTES])
{
    char bytes[MARKER_BYTES + 1];
    assert_false(job.late);
    assert_int_equal(pread(job.own, bytes, sizeof bytes, 0), MARKER_BYTES);
    assert_memory_equal(bytes, has, MARKER_BYTES);
    assert_left_to_job();
    close(job.own);
    job.own = -1;
}

static void the_low_number_is_closed(void **state)
{
    (void)state;
    struct own_fd own;
    int low = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    assert_true(own_fd_take(&own, low));
    assert_true(own.fd > low);
    assert_int_equal(fcntl(low, F_GETFD, 0), -1);
    own_fd_close(&own);
}

static void a_number_that_the_job_takes_ahead_of_the_copy_is_left_to_it(void **state)
{
    (void)state;
    struct own_fd own;
    job.before = true;
    assert_false(own_fd_take(&own, open("/proc/self/stat", O_RDONLY | O_CLOEXEC)));
    assert_int_equal(own.fd, -1);
    assert_left_to_job();
    assert_int_equal(fcntl(job.copy, F_GETFD, 0), -1); /* it keeps open no file of its */
}

static void a_number_that_the_job_takes_behind_the_copy_is_left_to_it(void **state)
{
    (void)state;
    struct own_fd own;
    job.after = true;
    assert_true(own_fd_take(&own, open("/proc/self/stat", O_RDONLY | O_CLOEXEC)));
    assert_true(own_fd_is_ours(&own));
    own_fd_close(&own);
    assert_left_to_job();
}

static void
a_copy_that_the_job_replaces_is_left_to_it_if_the_low_number_is_closed(void **state)
{
    (void)state;
    struct own_fd own;
    job.over = true;
    assert_false(own_fd_take(&own, open("/proc/self/stat", O_RDONLY | O_CLOEXEC)));
    assert_int_equal(own.fd, -1);
    assert_left_to_job();
}

static void a_file_that_cannot_be_looked_at_is_not_left_open(void **state)
{
    (void)state;
    struct own_fd own;
    int low = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    job.blind = true;
    errno = 0;
    assert_false(own_fd_take(&own, low));
    job.blind = false;
    assert_int_equal(errno, EIO);
    assert_int_equal(own.fd, -1);
    assert_int_equal(fcntl(low, F_GETFD, 0), -1);
}

struct two_tables {
    struct own_fd jobs, briefly;
    bool sees_jobs, sees_brief;
};

static void *look_from_another_table(void *arg)
{
    struct two_tables *t = arg;
    own_fd_set_apart();
    t->sees_jobs = own_fd_is_ours(&t->jobs);
    job.blind = true;
    t->sees_brief =
        own_fd_take_briefly(&t->briefly, open("/proc/self/stat", O_RDONLY | O_CLOEXEC)) &&
        own_fd_is_ours(&t->briefly);
    job.blind = false;
    return NULL;
}

static void a_number_counts_in_its_own_table_alone(void **state)
{
    (void)state;
    pthread_t thread;
    struct two_tables t;
    assert_true(own_fd_take(&t.jobs, open("/proc/self/stat", O_RDONLY | O_CLOEXEC)));
    assert_int_equal(pthread_create(&thread, NULL, look_from_another_table, &t), 0);
    pthread_join(thread, NULL);
    assert_false(t.sees_jobs);
    assert_true(t.sees_brief);
    assert_false(own_fd_is_ours(&t.briefly));
    own_fd_close(&t.jobs);
    close(t.briefly.fd);
}

/* \return the low number of a file "a" that was taken, and closed by the job. */
static int make_and_lose(const struct place *place, struct own_fd *own)
{
    int made = openat(place->dir, "a", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC);
    assert_true(own_fd_take_named(own, made, place->dir, "a"));
    close(own->fd);
    return made;
}

static void a_number_that_the_job_takes_ahead_of_our_look_is_left_to_it(void **state)
{
    (void)state;
    struct place place = place_open();
    struct own_fd own;
    int made = make_and_lose(&place, &own);
    job.opened = true;
    assert_false(own_fd_reopen(&own, place.dir, "a", O_RDWR));
    assert_int_equal(own.fd, -1);
    assert_left_to_job();
    job.opened = true;
    made = openat(place.dir, "b", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC);
    assert_false(own_fd_take_named(&own, made, place.dir, "b"));
    assert_int_equal(errno, EBADF);
    assert_int_equal(own.fd, -1);
    assert_left_to_job();
    place_close(&place);
}

static void a_lost_one_is_opened_again_unless_its_name_is_of_another(void **state)
{
    (void)state;
    struct place place = place_open();
    struct own_fd own;
    int made = make_and_lose(&place, &own);
    assert_true(own_fd_reopen(&own, place.dir, "a", O_RDWR));
    assert_true(own_fd_is_ours(&own));
    assert_true(own.fd > made);
    assert_int_equal(renameat(place.dir, "a", place.dir, "away"), 0);
    close(openat(place.dir, "a", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC));
    close(own.fd);
    assert_false(own_fd_reopen(&own, place.dir, "a", O_RDWR));
    int next = openat(place.dir, "a", O_RDONLY | O_CLOEXEC);
    assert_int_equal(next, made); /* nothing is left open */
    close(next);
    place_close(&place);
}

static void a_marker_is_not_written_into_a_file_of_the_job(void **state)
{
    (void)state;
    struct place place = place_open();
    const struct loss_marker marker = {.category = "spool", .reason = "full"};
    char has[MARKER_BYTES];
    loss_marker_reserve(place.dir);
    job_waits_with_a_file(&place, has);
    job.full = true;
    assert_false(loss_marker_write(place.dir, &marker));
    assert_file_is_left_to_job(has);
    place_close(&place);
}

static void lines_are_not_copied_into_a_file_of_the_job(void **state)
{
    (void)state;
    struct place place = place_open();
    struct session_amount lost;
    struct channel_file file;
    char has[MARKER_BYTES];
    assert_int_equal(channel_file_begin(&file, place.dir, CHANNEL_DEVICE), 0);
    assert_int_equal(own_fd_write(&file.own, "{}\n", 3), 3);
    assert_int_equal(unlinkat(place.dir, "device.log", 0), 0);
    job_waits_with_a_file(&place, has);
    assert_int_equal(channel_file_restore(&file, place.dir, CHANNEL_DEVICE, &lost),
                     CHANNEL_NOT_RESTORED);
    assert_file_is_left_to_job(has);
    own_fd_close(&file.own);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_low_number_is_closed),
        cmocka_unit_test(a_number_that_the_job_takes_ahead_of_the_copy_is_left_to_it),
        cmocka_unit_test(a_number_that_the_job_takes_behind_the_copy_is_left_to_it),
        cmocka_unit_test(
            a_copy_that_the_job_replaces_is_left_to_it_if_the_low_number_is_closed),
        cmocka_unit_test(a_file_that_cannot_be_looked_at_is_not_left_open),
        cmocka_unit_test(a_number_counts_in_its_own_table_alone),
        cmocka_unit_test(a_number_that_the_job_takes_ahead_of_our_look_is_left_to_it),
        cmocka_unit_test(a_lost_one_is_opened_again_unless_its_name_is_of_another),
        cmocka_unit_test(a_marker_is_not_written_into_a_file_of_the_job),
        cmocka_unit_test(lines_are_not_copied_into_a_file_of_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
