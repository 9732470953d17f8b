/* SPDX-License-Identifier: Apache-2.0 */
/* The lock under which a crashed writer's files are published. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schema/layout.h"
#include "tests/support/dirs.h"
#include "tests/support/rig_session.h"
#include "upload/source/salvage.h"

static int ends[2];
static pid_t child;

/* Another thread of the job forks while the lock is held. */
static int open_and_fork(int dir, const char *path, int flags, mode_t mode)
{
    if (strcmp(path, LAYOUT_TMP_DIR) == 0 && !child) {
        char byte;
        child = fork();
        if (child == 0) {
            close(ends[1]);
            ssize_t n = read(ends[0], &byte, 1); /* until the parent has looked */
            _exit((int)n);
        }
    }
    return sys_real.open_beneath(dir, path, flags, mode);
}

static void a_child_forked_meanwhile_does_not_keep_the_lock(void **state)
{
    (void)state;
    char *root = dirs_make();
    char path[600];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct sys sys = sys_real;
    struct log quiet = {0};
    sys.open_beneath = open_and_fork;
    snprintf(path, sizeof path, "%s/%s", root, RIG_ID);
    assert_int_equal(mkdir(path, 0700), 0);
    dirs_append(path, LAYOUT_LOCK, "");
    int session = open(path, O_RDONLY | O_DIRECTORY);
    assert_int_equal(mkdirat(session, LAYOUT_TMP_DIR, 0700), 0);
    assert_int_equal(pipe(ends), 0);
    size_t budget = 1;
    uint64_t there = 0;
    bool lists_many = true;
    struct salvage_place place = {.sys = &sys,
                                  .log = &quiet,
                                  .root = open(root, O_RDONLY | O_DIRECTORY),
                                  .path = RIG_ID,
                                  .id = RIG_ID,
                                  .readings = salvage_readings_new(),
                                  .budget = &budget,
                                  .there = &there,
                                  .lists_many = &lists_many};
    (void)salvage_step(&place);
    assert_true(child > 0);
    close(ends[0]);
    int fd = openat(session, LAYOUT_LOCK, O_RDWR);
    assert_int_equal(fcntl(fd, F_OFD_GETLK, &lock), 0);
    assert_int_equal(lock.l_type, F_UNLCK);
    close(ends[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(fd);
    close(session);
    close(place.root);
    salvage_readings_free(place.readings);
    dirs_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_forked_meanwhile_does_not_keep_the_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
