/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread of ours has of the one that starts it, and what not. */
#include "tests/support/check.h"

#include <pthread.h>
#include <sched.h>

#include "collector-lib/core/thread.h"

static void *note_policy(void *policy)
{
    *(int *)policy = sched_getscheduler(0);
    return NULL;
}

static bool take_policy(int policy, int priority)
{
    const struct sched_param param = {.sched_priority = priority};
    return sched_setscheduler(0, policy, &param) == 0;
}

static int policy_of_ours(void)
{
    pthread_t thread;
    int policy = -1;
    assert_int_equal(thread_start(&thread, THREAD_WRITER, note_policy, &policy), 0);
    pthread_join(thread, NULL);
    return policy;
}

static void a_real_time_policy_is_the_jobs_alone(void **state)
{
    static const int policies[] = {SCHED_FIFO, SCHED_RR};
    (void)state;
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        if (!take_policy(policies[i], 1)) {
            skip(); /* this user may not */
        }
        int ours = policy_of_ours();
        take_policy(SCHED_OTHER, 0);
        assert_int_equal(ours, SCHED_OTHER);
    }
}

static void a_thread_is_not_raised_above_the_one_that_starts_it(void **state)
{
    (void)state;
    assert_true(take_policy(SCHED_BATCH, 0));
    assert_int_equal(policy_of_ours(), SCHED_BATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_real_time_policy_is_the_jobs_alone),
        cmocka_unit_test(a_thread_is_not_raised_above_the_one_that_starts_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
