/* SPDX-License-Identifier: Apache-2.0 */
/* How often exit() calls what ends a session, and when. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector-lib/exit_hooks.h"

static struct {
    int to;
    bool exits;
} child;

static void say(char what)
{
    if (child.exits && write(child.to, &what, 1) != 1) {
        _exit(1);
    }
}

static void stop(bool before_runtime, bool interrupted)
{
    say(interrupted ? 'i' : before_runtime ? 'b' : 's');
}

static void end_runtime(void)
{
    say('R');
}

/* The runtime is there before all sessions but the first one. */
static void live(bool calls)
{
    exit_hooks_prepare(stop);
    exit_hooks_renew();
    atexit(end_runtime);
    for (int session = 0; session < 1000; session++) {
        exit_hooks_renew();
    }
    if (calls) {
        exit_hooks_at_first_call();
        exit_hooks_renew();
    }
    child.exits = true;
    exit(0);
}

static void assert_said(bool calls, const char *expected)
{
    int ends[2];
    int status;
    char said[2000];
    size_t count = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        child.to = ends[1];
        live(calls);
    }
    close(ends[1]);
    for (ssize_t n; (n = read(ends[0], said + count, sizeof said - 1 - count)) > 0;) {
        count += (size_t)n;
    }
    said[count] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_string_equal(said, expected);
}

static void
however_many_sessions_there_were_one_handler_comes_before_the_runtime(void **state)
{
    (void)state;
    assert_said(false, "sRs");
    assert_said(true, "bsRs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            however_many_sessions_there_were_one_handler_comes_before_the_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
