/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files that are gone over in steps. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/dirs.h"
#include "tests/support/gz_costly.h"
#include "upload/source/gz_file.h"

#define LINES  4000
#define BUDGET 4096

static int gz_open(const char *dir, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

/* \return how a file of \p dir is judged, or two are compared, in steps of BUDGET. */
static gpufl_status gz_step_all(const char *dir, enum gz_task task, const char *name,
                                const char *other)
{
    gpufl_status status;
    int fd = gz_open(dir, name);
    int with = other ? gz_open(dir, other) : -1;
    struct gz_file *file = gz_file_open(task);
    do {
        size_t budget = BUDGET;
        status = gz_file_step(file, &sys_real, fd, with, &budget);
    } while (status == GPUFL_BUSY);
    gz_file_close(file);
    close(fd);
    if (with >= 0) {
        close(with);
    }
    return status;
}

/* The same lines as one member, as several with an empty one between them, and less. */
static char *gz_files(void)
{
    char command[1200];
    char *dir = dirs_make();
    snprintf(command, sizeof command,
             "cd '%s' && seq %d > all && gzip -c all > one.gz &&"
             " { head -n 1500 all | gzip; gzip </dev/null; tail -n +1501 all | gzip; }"
             " > several.gz && head -n 1500 all | gzip > less.gz &&"
             " head -c 2000 one.gz > cut.gz && { cat several.gz; echo no; } > more.gz",
             dir, LINES);
    assert_int_equal(system(command), 0);
    return dir;
}

static void a_file_may_have_several_members(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        gpufl_status status;
    } row[] = {
        {"one.gz", GPUFL_OK},         {"several.gz", GPUFL_OK},
        {"cut.gz", GPUFL_ERR_FORMAT}, {"more.gz", GPUFL_ERR_FORMAT},
        {"all", GPUFL_ERR_FORMAT},
    };
    char *dir = gz_files();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        assert_int_equal(gz_step_all(dir, GZ_CHECK, row[i].name, NULL), row[i].status);
    }
    dirs_remove(dir);
}

static void what_members_hold_is_compared_not_how_many_there_are(void **state)
{
    (void)state;
    char *dir = gz_files();
    assert_int_equal(gz_step_all(dir, GZ_COMPARE, "one.gz", "several.gz"), GPUFL_OK);
    assert_int_equal(gz_step_all(dir, GZ_COMPARE, "several.gz", "less.gz"),
                     GPUFL_ERR_FORMAT);
    assert_int_equal(gz_step_all(dir, GZ_COMPARE, "less.gz", "one.gz"), GPUFL_ERR_FORMAT);
    dirs_remove(dir);
}

/* A step is not longer because a file holds little for its size. */
static void what_takes_long_to_decode_takes_more_steps(void **state)
{
    (void)state;
    const unsigned groups = 500;
    char *dir = dirs_make();
    unsigned steps = 1;
    size_t budget = BUDGET;
    gpufl_status status;
    gz_costly_make(dir, "x.gz", "line\n", 1, groups);
    int fd = gz_open(dir, "x.gz");
    struct gz_file *file = gz_file_open(GZ_CHECK);
    while ((status = gz_file_step(file, &sys_real, fd, -1, &budget)) == GPUFL_BUSY) {
        budget = BUDGET;
        steps++;
    }
    assert_int_equal(status, GPUFL_OK);
    assert_true(steps > groups * GZ_COSTLY_GROUP_BYTES * 16 / BUDGET);
    gz_file_close(file);
    close(fd);
    dirs_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_may_have_several_members),
        cmocka_unit_test(what_takes_long_to_decode_takes_more_steps),
        cmocka_unit_test(what_members_hold_is_compared_not_how_many_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
