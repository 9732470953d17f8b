/* SPDX-License-Identifier: Apache-2.0 */
/* Calls are found by their ids; what is no longer known, or was cut, is counted. */
#include "tests/support/check.h"

#include <stdio.h>

#include "collector-lib/trace/launches.h"

static void call(struct launches *l, uint32_t correlation)
{
    launches_call(l, &(struct row){.name_id = correlation, .instance = correlation}, 0);
}

static void a_call_whose_place_another_took_is_counted(void **state)
{
    (void)state;
    struct launches l;
    assert_true(launches_init(&l));
    const uint32_t first = 7;
    for (uint32_t round = 0; round < 5; round++) {
        if (round != 2) {
            call(&l, first + round * LAUNCHES_SLOTS);
        }
    }
    assert_int_equal(launches_find(&l, first + 4 * LAUNCHES_SLOTS).instance,
                     first + 4 * LAUNCHES_SLOTS);
    assert_int_equal(l.calls_lost, 0);
    for (uint32_t round = 0, lost = 0; round < 4; round++) {
        lost += round != 2; /* which was never made */
        assert_int_equal(launches_find(&l, first + round * LAUNCHES_SLOTS).instance, 0);
        assert_int_equal(l.calls_lost, lost);
    }
    launches_fini(&l);
}

/* A kernel may run while millions are launched beside it. */
static void a_call_of_any_number_of_rounds_ago_is_counted(void **state)
{
    (void)state;
    struct launches l;
    assert_true(launches_init(&l));
    const uint32_t first = 7;
    for (uint64_t round = 0, lost = 0; round < 1000; round++) {
        call(&l, (uint32_t)(first + round * LAUNCHES_SLOTS));
        lost += round > 0;
        assert_int_equal(launches_find(&l, first).instance, round ? 0 : first);
        assert_int_equal(l.calls_lost, lost);
    }
    launches_fini(&l);
}

static void a_call_that_was_never_told_is_none(void **state)
{
    (void)state;
    struct launches l;
    assert_true(launches_init(&l));
    call(&l, 9 + LAUNCHES_SLOTS);
    call(&l, 9 + LAUNCHES_SLOTS); /* the same, as of a call within a call */
    const uint32_t none[] = {0, 8, 9, 9 + 2 * LAUNCHES_SLOTS};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_int_equal(launches_find(&l, none[i]).instance, 0);
    }
    assert_int_equal(l.calls_lost, 0);
    launches_fini(&l);
}

static void ids_may_wrap_around(void **state)
{
    (void)state;
    struct launches l;
    assert_true(launches_init(&l));
    const uint32_t last = UINT32_MAX - 2;
    call(&l, last);
    call(&l, last + LAUNCHES_SLOTS);
    assert_int_equal(launches_find(&l, last).instance, 0);
    assert_int_equal(l.calls_lost, 1);
    launches_fini(&l);
}

/* A table that is full may yet have room for a shorter path. */
static void what_lies_below_a_path_without_room_is_counted(void **state)
{
    (void)state;
    struct launches l;
    char name[900];
    assert_true(launches_init(&l));
    uint32_t other = 0;
    for (int i = 0; !l.paths_lost; i++) {
        snprintf(name, sizeof name, "%0890d", i);
        other = launches_path_below(&l, 0, name);
    }
    assert_string_equal(launches_path(&l, other), NAMES_OTHER);
    launches_path_below(&l, other, "x");
    assert_int_equal(l.paths_lost, 2);
    assert_string_equal(launches_path(&l, launches_path_below(&l, 0, "x")), "x");
    assert_int_equal(l.paths_lost, 2);
    launches_fini(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_whose_place_another_took_is_counted),
        cmocka_unit_test(a_call_of_any_number_of_rounds_ago_is_counted),
        cmocka_unit_test(a_call_that_was_never_told_is_none),
        cmocka_unit_test(ids_may_wrap_around),
        cmocka_unit_test(what_lies_below_a_path_without_room_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
