/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread of ours has of the one that starts it, and what not. */
#include "tests/support/check.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "collector-lib/core/thread.h"

#define MIB ((size_t)1 << 20)

/* More than the whole stack of a thread on most systems. */
static _Thread_local volatile char locals[16 * MIB];

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

static void *use_stack(void *bytes)
{
    volatile char used[MIB / 2];
    pthread_attr_t attr;
    memset((char *)used, 1, sizeof used);
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstacksize(&attr, bytes);
    pthread_attr_destroy(&attr);
    return NULL;
}

/* As it is measured, the stack includes what is thread-local. */
static size_t stack_with_default(size_t bytes)
{
    pthread_attr_t attr;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, bytes), 0);
    assert_int_equal(pthread_setattr_default_np(&attr), 0);
    pthread_attr_destroy(&attr);
    assert_int_equal(thread_start(&thread, THREAD_WRITER, use_stack, &bytes), 0);
    pthread_join(thread, NULL);
    return bytes - sizeof locals;
}

static void the_jobs_default_of_stacks_is_taken_within_limits(void **state)
{
    static const struct {
        size_t given, least;
    } row[] = {{MIB / 16, MIB}, {4 * MIB, 4 * MIB}, {1024 * MIB, 8 * MIB}};
    (void)state;
    locals[0] = 1;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        assert_in_range(stack_with_default(row[i].given), row[i].least,
                        row[i].least + MIB); /* of a sanitizer */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* Stacks are used again: larger ones come later. */
        cmocka_unit_test(the_jobs_default_of_stacks_is_taken_within_limits),
        cmocka_unit_test(a_real_time_policy_is_the_jobs_alone),
        cmocka_unit_test(a_thread_is_not_raised_above_the_one_that_starts_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
