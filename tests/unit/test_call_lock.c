/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for a call of another thread, and how long. */
#include "tests/support/check.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "collector-lib/call_lock.h"

static sem_t taken, release;

static void *hold(void *arg)
{
    struct call_hold held;
    assert_true(call_lock_enter("hold", &held));
    sem_post(&taken);
    sem_wait(&release);
    call_lock_leave(&held);
    return arg;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The session of gpufl trace takes one that is not over in 200 ms for one of the
 * program's, and does not wait for its end: here, it has none until then. */
static void an_injected_session_waits_200_ms_for_a_call_of_the_program(void **state)
{
    (void)state;
    pthread_t thread;
    struct call_hold held;
    struct call_hold again;
    sem_init(&taken, 0, 0);
    sem_init(&release, 0, 0);
    pthread_create(&thread, NULL, hold, NULL);
    sem_wait(&taken);
    int64_t began_ms = now_ms();
    assert_false(call_lock_try(&held));
    assert_in_range(now_ms() - began_ms, 199, 2999); /* not as long as others do */
    sem_post(&release);
    pthread_join(thread, NULL);
    assert_true(call_lock_try(&held));
    assert_false(call_lock_try(&again)); /* this thread has it */
    call_lock_leave(&held);
}

static void other_calls_wait_as_long_as_a_session_may_take_to_end(void **state)
{
    (void)state;
    pthread_t thread;
    struct call_hold held;
    call_lock_patience(300);
    pthread_create(&thread, NULL, hold, NULL);
    sem_wait(&taken);
    int64_t began_ms = now_ms();
    assert_false(call_lock_enter("other", &held));
    assert_int_equal(errno, EBUSY);
    assert_true(now_ms() - began_ms >= 299);
    sem_post(&release);
    pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_injected_session_waits_200_ms_for_a_call_of_the_program),
        cmocka_unit_test(other_calls_wait_as_long_as_a_session_may_take_to_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
