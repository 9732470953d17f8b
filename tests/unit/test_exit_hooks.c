/* SPDX-License-Identifier: Apache-2.0 */
/* How often exit() calls what ends a session, and when. */
#include "tests/support/check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void assert_life_says(void (*life)(void), const char *expected)
{
    int ends[2];
    int status;
    char said[2000];
    size_t count = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        child.to = ends[1];
        life();
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

static void live_without_calls(void)
{
    live(false);
}

static void live_with_calls(void)
{
    live(true);
}

static void
however_many_sessions_there_were_one_handler_comes_before_the_runtime(void **state)
{
    (void)state;
    assert_life_says(live_without_calls, "sRss");
    assert_life_says(live_with_calls, "bsRss");
}

#define EXITING 8

static _Atomic pid_t waiting;

static void *exit_beside(void *arg)
{
    atomic_store(&waiting, gettid());
    exit(0);
    return arg;
}

/* It waits, or it has ended all. */
static bool sleeps(pid_t thread)
{
    char path[64];
    char state[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    FILE *file = fopen(path, "re");
    bool read = file && fgets(state, sizeof state, file);
    if (file) {
        fclose(file);
    }
    return read && strstr(state, ") S ");
}

/* Others exit meanwhile. */
static void stop_beside_others(bool before_runtime, bool interrupted)
{
    static bool stopped;
    (void)before_runtime;
    (void)interrupted;
    for (int i = 1; !stopped && i < EXITING; i++) {
        pthread_t thread;
        pid_t id;
        atomic_store(&waiting, 0);
        if (pthread_create(&thread, NULL, exit_beside, NULL) != 0) {
            _exit(2);
        }
        do {
            id = atomic_load(&waiting);
        } while (!id || !sleeps(id));
    }
    if (!stopped) {
        say('e');
    }
    stopped = true;
}

static void live_beside_others(void)
{
    child.exits = true;
    exit_hooks_prepare(stop_beside_others);
    exit(0);
}

/* The C library calls each handler once, in one of them. */
static void threads_that_exit_at_once_wait_for_the_end(void **state)
{
    (void)state;
    assert_life_says(live_beside_others, "e");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            however_many_sessions_there_were_one_handler_comes_before_the_runtime),
        cmocka_unit_test(threads_that_exit_at_once_wait_for_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
