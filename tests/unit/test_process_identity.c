/* SPDX-License-Identifier: Apache-2.0 */
/* A process knows itself again, and no other. */
#include "tests/support/check.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/boot_id.h"
#include "base/process_identity.h"

static void a_process_knows_itself_again(void **state)
{
    (void)state;
    struct process_identity first;
    struct process_identity again;
    process_identity_read(&first);
    assert_int_equal(prctl(PR_SET_NAME, ") R 1 (", 0, 0, 0), 0); /* as /proc shows it */
    process_identity_read(&again);
    assert_int_equal(first.pid, getpid());
    assert_true(first.start_ticks > 0);
    assert_true(process_identity_same(&first, &again));
}

static void a_child_is_another_process(void **state)
{
    (void)state;
    struct process_identity parent;
    process_identity_read(&parent);
    pid_t child = fork();
    if (child == 0) {
        struct process_identity self;
        process_identity_read(&self);
        _exit(process_identity_same(&parent, &self));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void what_is_not_known_is_never_the_same(void **state)
{
    (void)state;
    struct process_identity self;
    process_identity_read(&self);
    struct process_identity row[5] = {self, self, self, self, self};
    row[0].boot_id[0] = '\0';
    row[1].pid_namespace = 0;
    row[2].start_ticks = 0;
    row[3].pid++;
    row[4].boot_id[0] ^= 1;
    for (size_t i = 0; i < 5; i++) {
        assert_false(process_identity_same(&self, &row[i]));
        assert_true(i > 2 || !process_identity_same(&row[i], &row[i]));
    }
}

static void a_process_runs_until_it_is_dead_also_if_nobody_waits_for_it(void **state)
{
    (void)state;
    siginfo_t info;
    struct process_identity of;
    process_identity_read(&of);
    assert_int_equal(process_identity_probe(&of), PROCESS_RUNS);
    of.pid_namespace++;
    assert_int_equal(process_identity_probe(&of), PROCESS_UNKNOWN);
    of.pid_namespace--;
    of.pid = fork();
    if (of.pid == 0) {
        _exit(0);
    }
    assert_int_equal(waitid(P_PID, (id_t)of.pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(process_identity_probe(&of), PROCESS_GONE);
    assert_int_equal(waitpid((pid_t)of.pid, NULL, 0), of.pid);
    assert_int_equal(process_identity_probe(&of), PROCESS_GONE);
}

/* An uploader asks for it at every look at a session. */
static void the_boot_is_asked_for_once(void **state)
{
    (void)state;
    char first[BOOT_ID_TEXT];
    char again[BOOT_ID_TEXT];
    struct rlimit limit;
    boot_id_get(first);
    assert_int_equal(strlen(first), 36);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, limit.rlim_max}), 0);
    boot_id_get(again); /* no file can be opened */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_string_equal(again, first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_knows_itself_again),
        cmocka_unit_test(a_child_is_another_process),
        cmocka_unit_test(what_is_not_known_is_never_the_same),
        cmocka_unit_test(a_process_runs_until_it_is_dead_also_if_nobody_waits_for_it),
        cmocka_unit_test(the_boot_is_asked_for_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
