/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges are kept in order, whatever order they come in, and are found by stream, file
 * and place. */
#include "tests/support/check.h"

#include "upload/journal/range_list.h"

#define STREAMS 3u
#define FILES   4u
#define PLACES  5u
#define RANGES  (STREAMS * FILES * PLACES)

static struct record_quarantine range_number(unsigned n)
{
    return (struct record_quarantine){.stream = 1 + n / (FILES * PLACES),
                                      .file = 1 + n / PLACES % FILES,
                                      .begin = 10 * (n % PLACES),
                                      .sequence = n};
}

static struct record_released released_number(unsigned n)
{
    struct record_quarantine range = range_number(n);
    return (struct record_released){
        .stream = range.stream, .file = range.file, .begin = range.begin};
}

/* Of all ranges, in an order of the \p step, which has no factor in common with RANGES.
 */
static struct range_list list_by(unsigned step)
{
    struct range_list list = {0};
    for (unsigned i = 0; i < RANGES; i++) {
        struct record_quarantine range = range_number(i * step % RANGES);
        assert_true(range_list_add(&list, &range));
    }
    return list;
}

static void they_are_in_order_whatever_order_they_came_in(void **state)
{
    (void)state;
    static const unsigned steps[] = {1, 7, 31, RANGES - 1};
    for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct range_list list = list_by(steps[i]);
        assert_int_equal(list.count, RANGES);
        for (unsigned n = 0; n < RANGES; n++) {
            assert_int_equal(list.range[n]->sequence, n);
        }
        range_list_close(&list);
        assert_int_equal(list.count, 0);
    }
}

static void those_of_a_stream_and_a_file_are_found(void **state)
{
    (void)state;
    struct range_list list = list_by(7);
    for (unsigned n = 0; n < RANGES; n++) {
        struct record_quarantine range = range_number(n);
        size_t first = range_list_first(&list, range.stream, range.file);
        assert_int_equal(first, n / PLACES * PLACES);
        assert_true(range_list_is_of(&list, first, range.stream));
        assert_true(range_list_has(&list, &range));
        range.begin++;
        assert_false(range_list_has(&list, &range));
    }
    assert_int_equal(range_list_first(&list, 0, 1), 0);
    assert_int_equal(range_list_first(&list, 1, FILES + 1), FILES * PLACES);
    assert_int_equal(range_list_first(&list, STREAMS + 1, 0), RANGES);
    assert_false(range_list_is_of(&list, RANGES, STREAMS));
    range_list_close(&list);
}

static void the_named_range_is_taken_once_and_the_others_stay_in_order(void **state)
{
    (void)state;
    for (unsigned named = 0; named < RANGES; named++) {
        struct range_list list = list_by(31);
        struct record_released released = released_number(named);
        struct record_quarantine out;
        assert_true(range_list_take(&list, &released, &out));
        assert_int_equal(out.sequence, named);
        assert_false(range_list_take(&list, &released, &out));
        assert_int_equal(list.count, RANGES - 1);
        for (unsigned n = 0; n < list.count; n++) {
            assert_int_equal(list.range[n]->sequence, n + (n >= named));
        }
        range_list_close(&list);
    }
}

/* The backend went back, and refused it once more. */
static void two_of_one_place_are_taken_one_after_the_other(void **state)
{
    (void)state;
    struct range_list list = list_by(1);
    struct record_released released = released_number(9);
    struct record_quarantine again = range_number(9);
    struct record_quarantine out;
    again.sequence = RANGES;
    assert_true(range_list_add(&list, &again));
    assert_true(range_list_take(&list, &released, &out));
    assert_int_equal(out.sequence, 9);
    assert_true(range_list_take(&list, &released, &out));
    assert_int_equal(out.sequence, RANGES);
    assert_false(range_list_has(&list, &again));
    range_list_close(&list);
}

static bool is_even(void *arg, struct record_quarantine *range)
{
    (void)arg;
    return range->sequence % 2 == 0;
}

static void only_some_of_a_part_are_kept(void **state)
{
    (void)state;
    struct range_list list = list_by(7);
    range_list_keep(&list, 10, 20, is_even, NULL);
    assert_int_equal(list.count, RANGES - 10);
    for (unsigned n = 0; n < list.count; n++) {
        unsigned expected = n < 10 ? n : n < 20 ? 2 * n - 10 : n + 10;
        assert_int_equal(list.range[n]->sequence, expected);
    }
    range_list_keep(&list, 0, 0, is_even, NULL);
    assert_int_equal(list.count, RANGES - 10);
    range_list_close(&list);
}

/* Whatever comes first and goes first. */
static void those_that_come_and_go_are_in_order(void **state)
{
    (void)state;
    static const struct {
        unsigned taken, step;
    } row[] = {{1, 1}, {RANGES - 1, RANGES - 1}, {RANGES / 2 + 1, 7}, {RANGES, 31}};
    struct range_list list = list_by(7);
    for (unsigned i = 0; i < 4 * sizeof row / sizeof row[0]; i++) {
        unsigned taken = row[i % 4].taken;
        unsigned step = row[i % 4].step;
        for (unsigned k = 0; k < taken; k++) {
            struct record_released released = released_number(k * step % RANGES);
            struct record_quarantine out;
            assert_true(range_list_take(&list, &released, &out));
            assert_int_equal(out.sequence, k * step % RANGES);
        }
        assert_int_equal(list.count, RANGES - taken);
        for (unsigned k = 0; k < taken; k++) {
            struct record_quarantine range = range_number(k * step % RANGES);
            assert_true(range_list_add(&list, &range));
        }
        for (unsigned n = 0; n < RANGES; n++) {
            assert_int_equal(list.range[n]->sequence, n);
        }
    }
    range_list_close(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_in_order_whatever_order_they_came_in),
        cmocka_unit_test(those_of_a_stream_and_a_file_are_found),
        cmocka_unit_test(the_named_range_is_taken_once_and_the_others_stay_in_order),
        cmocka_unit_test(two_of_one_place_are_taken_one_after_the_other),
        cmocka_unit_test(only_some_of_a_part_are_kept),
        cmocka_unit_test(those_that_come_and_go_are_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
