/* SPDX-License-Identifier: Apache-2.0 */
/* How often, and how far, the kernel's list of locks is read: other users make it long.
 * The lists here are files, as a long one of the kernel would delay whatever locks
 * something on this machine meanwhile. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/support/dirs.h"
#include "upload/source/lock_list.h"

#define LONG_LINES 2000u
#define NO_MAX     65536u

static char *base;
static char path[256];
static struct lock_list list;

static int lock_list_set_up(void **state)
{
    (void)state;
    base = dirs_make();
    snprintf(path, sizeof path, "%s/locks", base);
    list = (struct lock_list){.path = path, .lock = PTHREAD_MUTEX_INITIALIZER};
    return 0;
}

static int lock_list_tear_down(void **state)
{
    (void)state;
    free(list.seen);
    dirs_remove(base);
    return 0;
}

/* Locks of others, and \p holder's lock on inode 7 behind \p before of them. */
static void write_list(unsigned before, int holder)
{
    FILE *file = fopen(path, "w");
    for (unsigned i = 0; i < before; i++) {
        fprintf(file, "%u: POSIX  ADVISORY  WRITE 99 08:01:5 %u %u\n", i + 1, 2 * i,
                2 * i);
    }
    if (holder) {
        fprintf(file, "%u: FLOCK  ADVISORY  WRITE %d 08:01:7 0 EOF\n", before + 1,
                holder);
    }
    fclose(file);
}

static bool note_pid(void *arg, int pid)
{
    *(int *)arg = pid;
    return true;
}

static bool is_whole;

static int holder_of(unsigned long inode, size_t lines_max)
{
    struct stat dir = {.st_dev = makedev(8, 1), .st_ino = inode};
    int pid = 0;
    is_whole = lock_list_each(&list, &dir, lines_max, note_pid, &pid);
    return pid;
}

static void a_short_list_is_read_each_time(void **state)
{
    (void)state;
    write_list(3, 41);
    assert_int_equal(holder_of(7, NO_MAX), 41);
    assert_int_equal(holder_of(8, NO_MAX), 0);
    write_list(3, 42);
    assert_int_equal(holder_of(7, NO_MAX), 42);
}

static void a_long_list_is_kept_for_a_while(void **state)
{
    (void)state;
    write_list(LONG_LINES, 41);
    assert_int_equal(holder_of(7, NO_MAX), 41);
    list.next_read_ms = UINT64_MAX; /* however slow this test is */
    write_list(LONG_LINES, 42);
    assert_int_equal(holder_of(7, NO_MAX), 41);
    list.next_read_ms = 0;
    assert_int_equal(holder_of(7, NO_MAX), 42);
    assert_true(list.next_read_ms > 0);
}

static void a_list_is_read_up_to_a_limit(void **state)
{
    (void)state;
    write_list(LONG_LINES, 41);
    assert_int_equal(holder_of(7, LONG_LINES), 0);
    assert_false(is_whole);
    list.next_read_ms = UINT64_MAX;
    assert_int_equal(holder_of(7, LONG_LINES), 0);
    assert_false(is_whole);
    assert_int_equal(holder_of(7, NO_MAX), 41); /* who wants to know more reads on */
    assert_true(is_whole);
    list.next_read_ms = UINT64_MAX;
    assert_int_equal(holder_of(8, LONG_LINES), 0);
    assert_true(is_whole); /* it was */
}

static void a_list_that_cannot_be_read_names_nobody(void **state)
{
    (void)state;
    assert_int_equal(holder_of(7, NO_MAX), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_short_list_is_read_each_time, lock_list_set_up,
                                        lock_list_tear_down),
        cmocka_unit_test_setup_teardown(a_long_list_is_kept_for_a_while, lock_list_set_up,
                                        lock_list_tear_down),
        cmocka_unit_test_setup_teardown(a_list_is_read_up_to_a_limit, lock_list_set_up,
                                        lock_list_tear_down),
        cmocka_unit_test_setup_teardown(a_list_that_cannot_be_read_names_nobody,
                                        lock_list_set_up, lock_list_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
