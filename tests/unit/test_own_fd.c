/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors in a job that closes what it did not open, at the moments in which the
 * number is a low one: what is the job's is left to it. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector-lib/core/own_fd.h"

static struct {
    bool before, after; /* the copy is made, the job closes ours, and opens its own */
    bool over;  /* behind the copy, it puts its own there, and closes the low one */
    int number; /* of its own */
    int copy;   /* the last one */
} job = {.number = -1, .copy = -1};

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

static void assert_left_to_job(void)
{
    assert_true(fcntl(job.number, F_GETFD, 0) >= 0);
    close(job.number);
    job.before = job.after = job.over = false;
    job.number = -1;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_low_number_is_closed),
        cmocka_unit_test(a_number_that_the_job_takes_ahead_of_the_copy_is_left_to_it),
        cmocka_unit_test(a_number_that_the_job_takes_behind_the_copy_is_left_to_it),
        cmocka_unit_test(
            a_copy_that_the_job_replaces_is_left_to_it_if_the_low_number_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
