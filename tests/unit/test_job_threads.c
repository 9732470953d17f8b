/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions have a thread that watches for the end of the job's. */
#include "tests/support/check.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "collector-lib/job/job_threads.h"

static unsigned watchers(void)
{
    unsigned found = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *comm = fopen(path, "r");
        found +=
            comm && fgets(name, sizeof name, comm) && strcmp(name, "gpufl-last\n") == 0;
        if (comm) {
            fclose(comm);
        }
    }
    closedir(tasks);
    return found;
}

static void *begin(void *arg)
{
    job_threads_begin();
    return arg;
}

static void a_session_that_another_thread_begins_leaves_no_thread(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        pthread_t other;
        assert_int_equal(pthread_create(&other, NULL, begin, NULL), 0);
        pthread_join(other, NULL);
        job_threads_end();
        assert_int_equal(watchers(), 0);
    }
}

static void one_thread_watches_whatever_is_left_behind(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        assert_true(job_threads_watch());
    }
    job_threads_begin();
    job_threads_end();
    while (watchers() == 0) { /* it names itself */
    }
    assert_int_equal(watchers(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_that_another_thread_begins_leaves_no_thread),
        cmocka_unit_test(one_thread_watches_whatever_is_left_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
