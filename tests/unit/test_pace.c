/* SPDX-License-Identifier: Apache-2.0 */
/* As many full batches are under way as the origin can take. */
#include "tests/support/check.h"

#include "upload/pace/pace.h"

static void answer(struct pace *pace, unsigned requests, uint64_t took_ms,
                   uint64_t *now_ms)
{
    for (unsigned i = 0; i < requests; i++) {
        *now_ms += took_ms;
        pace_answered(pace);
        pace_note_full(pace, took_ms, *now_ms);
    }
}

static void a_refusal_halves_and_a_round_of_answers_adds_one(void **state)
{
    (void)state;
    struct pace pace;
    pace_init(&pace, 10, 1000);
    assert_int_equal(pace_batches(&pace), 10);
    pace_refused(&pace, 5, 2000);
    assert_int_equal(pace_batches(&pace), 5);
    for (unsigned i = 0; i < 4; i++) {
        pace_refused(&pace, 5, 2000 + i); /* they were under way together */
    }
    assert_int_equal(pace_batches(&pace), 5);
    for (unsigned i = 1; i < 9; i++) {
        pace_refused(&pace, 5, 2000 + i * 1000);
    }
    assert_int_equal(pace_batches(&pace), 1);
    for (unsigned requests = 1; requests < 10; requests++) {
        for (unsigned i = 0; i < requests; i++) {
            pace_answered(&pace);
        }
        assert_in_range(pace_batches(&pace), requests, requests + 1);
    }
    for (unsigned i = 0; i < 100; i++) {
        pace_answered(&pace);
    }
    assert_int_equal(pace_batches(&pace), 10);
}

static void slower_answers_leave_two(void **state)
{
    (void)state;
    struct pace pace;
    uint64_t now_ms = 0;
    pace_init(&pace, 10, 0);
    answer(&pace, 100, 20, &now_ms);
    assert_int_equal(pace_batches(&pace), 10);
    answer(&pace, 1, 150, &now_ms); /* one sync that took long */
    assert_int_equal(pace_batches(&pace), 10);
    answer(&pace, 3, 400, &now_ms);
    assert_in_range(pace_batches(&pace), 2, 5);
    for (unsigned i = 0; i < 20; i++) {
        answer(&pace, 2, 400, &now_ms);
        assert_in_range(pace_batches(&pace), 2, 5);
    }
}

/* Behind a longer way, say: what was quick is over. */
static void the_least_time_is_forgotten(void **state)
{
    (void)state;
    struct pace pace;
    uint64_t now_ms = 0;
    pace_init(&pace, 10, 0);
    answer(&pace, 10, 20, &now_ms);
    answer(&pace, 300, 400, &now_ms);
    assert_int_equal(pace_batches(&pace), 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_halves_and_a_round_of_answers_adds_one),
        cmocka_unit_test(slower_answers_leave_two),
        cmocka_unit_test(the_least_time_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
