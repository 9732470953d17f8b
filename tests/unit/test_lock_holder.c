/* SPDX-License-Identifier: Apache-2.0 */
/* Whose lock on a directory counts. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/dirs.h"
#include "upload/source/lock_holder.h"

#define ANOTHER_USER   12345
#define A_THIRD_USER   12346
#define A_SERVICE      101
#define A_DYNAMIC_USER 64000

/* A process of \p user that holds a lock on \p path and may not be dumped. */
static pid_t lock_holder_start(const char *path, uid_t user)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int dir = open(path, O_RDONLY | O_DIRECTORY);
        bool good = setuid(user) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0 &&
                    flock(dir, LOCK_EX) == 0 && write(ready[1], "x", 1) == 1;
        close(ready[0]);
        while (good) {
            pause();
        }
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static void only_the_lock_of_one_who_has_no_say_is_foreign(void **state)
{
    (void)state;
    static const struct {
        uid_t holder;
        uid_t owner;
        bool foreign; /* to a service */
        bool foreign_to_others;
    } row[] = {
        {0, 0, false, false},
        {ANOTHER_USER, 0, true, true},
        {ANOTHER_USER, A_THIRD_USER, true, true},
        {ANOTHER_USER, ANOTHER_USER, false, false},
        {0, ANOTHER_USER, false, false},
        {A_SERVICE, 0, true, false},
        {A_DYNAMIC_USER, 0, true, false},
    };
    if (geteuid() != 0) {
        skip();
    }
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char *base = dirs_make();
        assert_int_equal(chown(base, row[i].owner, 0), 0);
        pid_t child = lock_holder_start(base, row[i].holder);
        int dir = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (lock_holder_is_foreign(dir, true) != row[i].foreign ||
            lock_holder_is_foreign(dir, false) != row[i].foreign_to_others) {
            fail_msg("row %zu", i);
        }
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        assert_false(lock_holder_is_foreign(dir, true)); /* there is none */
        close(dir);
        dirs_remove(base);
    }
}

static void our_own_lock_among_others_counts(void **state)
{
    (void)state;
    char *base = dirs_make();
    int dir = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(dir, LOCK_SH), 0);
    assert_false(lock_holder_is_foreign(dir, true));
    close(dir);
    dirs_remove(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_lock_of_one_who_has_no_say_is_foreign),
        cmocka_unit_test(our_own_lock_among_others_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
