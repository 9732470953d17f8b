/* SPDX-License-Identifier: Apache-2.0 */
/* What it costs to find the oldest file of a channel of the 1.1 layout. */
#include "tests/support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tests/support/dirs.h"
#include "upload/source/shifting.h"
#include "upload/source/shifting_numbers.h"

static unsigned opened;
static long kind;

static const char *fails; /* a name that cannot be opened; NULL = none */

static int open_counted(int dir, const char *path, int flags, mode_t mode)
{
    opened++;
    if (fails && strstr(path, fails)) {
        errno = EMFILE;
        return -1;
    }
    return sys_real.open_beneath(dir, path, flags, mode);
}

static int fstatfs_as(int fd, struct statfs *out)
{
    (void)fd;
    *out = (struct statfs){.f_type = kind};
    return 0;
}

struct fixture {
    char *path;
    struct sys sys;
    struct tail_where where;
};

static void open_fixture(struct fixture *f, long file_system)
{
    kind = file_system;
    fails = NULL;
    opened = 0;
    f->path = dirs_make();
    f->sys = sys_real;
    f->sys.open_beneath = open_counted;
    f->sys.fstatfs = fstatfs_as;
    f->where = (struct tail_where){.root = open(f->path, O_RDONLY | O_DIRECTORY),
                                   .path = ".",
                                   .channel = "device",
                                   .layout = SESSION_SHIFTING};
}

static void close_fixture(struct fixture *f)
{
    close(f->where.root);
    dirs_remove(f->path);
}

static void numbers_that_are_not_listed_are_not_tried(void **state)
{
    (void)state;
    static const struct {
        long file_system;
        unsigned least, most;
    } row[] = {{EXT4_SUPER_MAGIC, 1, 8},
               {XFS_SUPER_MAGIC, 1, 8},
               {BTRFS_SUPER_MAGIC, 100, 300},
               {NFS_SUPER_MAGIC, 100, 300}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct fixture f;
        struct shifting_place place;
        open_fixture(&f, row[i].file_system);
        dirs_append(f.path, "device.log", "{\"type\":\"x\"}\n");
        dirs_append(f.path, "scope.50.log", "{\"type\":\"x\"}\n");
        dirs_append(f.path, "device.102.log", "{\"type\":\"x\"}\n");
        assert_int_equal(shifting_first(&f.sys, &f.where, 0, &place), GPUFL_OK);
        assert_int_equal(place.index, 0);
        assert_in_range(opened, row[i].least, row[i].most);
        close_fixture(&f);
    }
}

/* The scan was before a rotation. */
static void a_file_that_got_a_higher_number_is_found(void **state)
{
    (void)state;
    struct fixture f;
    struct shifting_place place;
    uint32_t number;
    open_fixture(&f, EXT4_SUPER_MAGIC);
    dirs_append(f.path, "device.log", "{\"type\":\"x\"}\n");
    dirs_append(f.path, "device.7.log.gz", "no gzip file\n");
    dirs_append(f.path, "device.9.log", "{\"type\":\"y\"}\n");
    assert_true(shifting_number_beyond(&f.sys, &f.where, 0, &number));
    assert_int_equal(number, 7);
    assert_true(shifting_number_beyond(&f.sys, &f.where, 7, &number));
    assert_int_equal(number, 9);
    assert_true(shifting_number_beyond(&f.sys, &f.where, 9, &number));
    assert_int_equal(number, 0);
    assert_int_equal(shifting_first(&f.sys, &f.where, 0, &place), GPUFL_OK);
    assert_int_equal(place.index, 9);
    close_fixture(&f);
}

static void a_directory_that_takes_two_calls_is_not_believed(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t number;
    open_fixture(&f, EXT4_SUPER_MAGIC);
    for (unsigned i = 0; i < 1000; i++) {
        char name[64];
        snprintf(name, sizeof name, "a-name-that-takes-some-room-%u", i);
        dirs_append(f.path, name, "");
    }
    assert_false(shifting_number_beyond(&f.sys, &f.where, 0, &number));
    close_fixture(&f);
}

/* It may be the first one, or come in between: nothing is skipped. */
static void a_file_that_cannot_be_opened_is_not_passed_over(void **state)
{
    (void)state;
    struct fixture f;
    struct shifting_place place;
    open_fixture(&f, BTRFS_SUPER_MAGIC);
    dirs_append(f.path, "device.3.log", "{\"type\":\"job_start\"}\n");
    dirs_append(f.path, "device.2.log", "{\"type\":\"x\",\"n\":2}\n");
    dirs_append(f.path, "device.1.log", "{\"type\":\"x\",\"n\":1}\n");
    assert_int_equal(shifting_first(&f.sys, &f.where, 2, &place), GPUFL_OK);
    assert_int_equal(place.index, 3);
    fails = "device.3.log";
    assert_int_equal(shifting_first(&f.sys, &f.where, 2, &place), GPUFL_ERR_IO);
    fails = NULL;
    assert_int_equal(shifting_first(&f.sys, &f.where, 3, &place), GPUFL_OK);
    f.where.head = place.head;
    fails = "device.2.log";
    assert_int_equal(shifting_next(&f.sys, &f.where, &place), GPUFL_ERR_IO);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_cannot_be_opened_is_not_passed_over),
        cmocka_unit_test(numbers_that_are_not_listed_are_not_tried),
        cmocka_unit_test(a_file_that_got_a_higher_number_is_found),
        cmocka_unit_test(a_directory_that_takes_two_calls_is_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
