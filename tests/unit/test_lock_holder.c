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

/* Whatever assertion fails: else it waits for ever, and with it who reads our output. A
 * change of the user takes that back. */
static bool ends_with_its_parent(void)
{
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

/* A process that holds a lock on \p path and may not be dumped. */
static pid_t lock_holder_start_as(const char *path, uid_t real, uid_t effective)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int dir = open(path, O_RDONLY | O_DIRECTORY);
        bool good = setresuid(real, effective, effective) == 0 &&
                    ends_with_its_parent() && prctl(PR_SET_DUMPABLE, 0) == 0 &&
                    flock(dir, LOCK_SH) == 0 && write(ready[1], "x", 1) == 1;
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

static pid_t lock_holder_start(const char *path, uid_t user)
{
    return lock_holder_start_as(path, user, user);
}

static void only_the_lock_of_one_who_has_no_say_is_foreign(void **state)
{
    (void)state;
    static const struct {
        uid_t holder;
        uid_t owner;
        bool foreign; /* to a service */
        bool foreign_to_others;
        bool foreign_to_publishers;
    } row[] = {
        {0, 0, false, false, true},
        {ANOTHER_USER, 0, true, true, true},
        {ANOTHER_USER, A_THIRD_USER, true, true, true},
        {ANOTHER_USER, ANOTHER_USER, false, false, false},
        {0, ANOTHER_USER, false, false, true},
        {A_SERVICE, 0, true, false, true},
        {A_DYNAMIC_USER, 0, true, false, true},
    };
    if (geteuid() != 0) {
        skip();
    }
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char *base = dirs_make();
        assert_int_equal(chown(base, row[i].owner, 0), 0);
        pid_t child = lock_holder_start(base, row[i].holder);
        int dir = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (lock_holder_is_foreign(dir, LOCK_SEEN_BY_SERVICE) != row[i].foreign ||
            lock_holder_is_foreign(dir, LOCK_SEEN_BY_USER) != row[i].foreign_to_others ||
            lock_holder_is_foreign(dir, LOCK_SEEN_BY_PUBLISHER) !=
                row[i].foreign_to_publishers) {
            fail_msg("row %zu", i);
        }
        if (lock_holder_is_seen(dir, LOCK_SEEN_BY_SERVICE) == row[i].foreign ||
            lock_holder_is_seen(dir, LOCK_SEEN_BY_USER) == row[i].foreign_to_others ||
            lock_holder_is_seen(dir, LOCK_SEEN_BY_PUBLISHER) ==
                row[i].foreign_to_publishers) {
            fail_msg("row %zu, seen", i);
        }
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        assert_false(
            lock_holder_is_foreign(dir, LOCK_SEEN_BY_SERVICE)); /* there is none */
        close(dir);
        dirs_remove(base);
    }
}

/* As su, while it waits for a password. */
static void a_program_that_is_root_for_another_user_has_no_say(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    for (int viewer = 0; viewer <= LOCK_SEEN_BY_PUBLISHER; viewer++) {
        char *base = dirs_make();
        pid_t child = lock_holder_start_as(base, ANOTHER_USER, 0);
        int dir = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(lock_holder_is_foreign(dir, (enum lock_viewer)viewer));
        assert_false(lock_holder_is_seen(dir, (enum lock_viewer)viewer));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        close(dir);
        dirs_remove(base);
    }
}

/* As if the pid of the one that took it were used again. */
static void a_process_that_does_not_have_it_open_has_no_say(void **state)
{
    (void)state;
    char *base = dirs_make();
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int held = open(base, O_RDONLY | O_DIRECTORY);
        bool good = ends_with_its_parent() && flock(held, LOCK_EX) == 0;
        if (fork() == 0) { /* it keeps the lock */
            good = good && ends_with_its_parent();
        } else {
            close(held);
        }
        good = good && write(ready[1], "x", 1) == 1;
        while (good) {
            pause();
        }
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    int dir = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(dir, LOCK_SH | LOCK_NB), -1);
    assert_true(lock_holder_is_foreign(dir, LOCK_SEEN_BY_USER));
    assert_false(lock_holder_is_seen(dir, LOCK_SEEN_BY_USER));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ready[0]);
    close(ready[1]);
    close(dir);
    dirs_remove(base);
}

static void our_own_lock_among_others_counts(void **state)
{
    (void)state;
    char *base = dirs_make();
    int dir = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(dir, LOCK_SH), 0);
    assert_false(lock_holder_is_foreign(dir, LOCK_SEEN_BY_SERVICE));
    close(dir);
    dirs_remove(base);
}

/* Those of others before it or behind it in the list take nothing away. */
static void one_lock_that_counts_is_enough(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    for (int counts = 0; counts < 3; counts++) {
        char *base = dirs_make();
        int dir = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        pid_t child[3];
        for (int i = 0; i < 3; i++) {
            child[i] = lock_holder_start(base, i == counts ? 0 : ANOTHER_USER);
        }
        assert_false(lock_holder_is_foreign(dir, LOCK_SEEN_BY_SERVICE));
        kill(child[counts], SIGKILL);
        waitpid(child[counts], NULL, 0);
        assert_true(lock_holder_is_foreign(dir, LOCK_SEEN_BY_SERVICE));
        for (int i = 0; i < 3; i++) {
            if (i != counts) {
                kill(child[i], SIGKILL);
                waitpid(child[i], NULL, 0);
            }
        }
        close(dir);
        dirs_remove(base);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_lock_of_one_who_has_no_say_is_foreign),
        cmocka_unit_test(a_program_that_is_root_for_another_user_has_no_say),
        cmocka_unit_test(a_process_that_does_not_have_it_open_has_no_say),
        cmocka_unit_test(one_lock_that_counts_is_enough),
        cmocka_unit_test(our_own_lock_among_others_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
