/* SPDX-License-Identifier: Apache-2.0 */
/* What the records of a journal change in counts and in the list of ranges. */
#include "tests/support/check.h"

#include <string.h>

#include "upload/journal/record_apply.h"

#define RANGES 4u

/* Each differs from the first one in one field. */
static const struct record_quarantine ranges[RANGES] = {
    {.stream = 1, .file = 1, .begin = 10, .sequence = 1},
    {.stream = 2, .file = 1, .begin = 10, .sequence = 2},
    {.stream = 1, .file = 2, .begin = 10, .sequence = 3},
    {.stream = 1, .file = 1, .begin = 20, .sequence = 4},
};

/* Takes range \p named out of a list that begins with range \p first. */
static void take(size_t first, size_t named)
{
    struct record_quarantine list[RANGES], out;
    size_t count = RANGES;
    struct record_released released = {.stream = ranges[named].stream,
                                       .file = ranges[named].file,
                                       .begin = ranges[named].begin};
    for (size_t i = 0; i < RANGES; i++) {
        list[i] = ranges[(first + i) % RANGES];
    }
    assert_true(record_take_range(&released, list, &count, &out));
    assert_int_equal(out.sequence, ranges[named].sequence);
    assert_int_equal(count, RANGES - 1);
    size_t left = 0;
    for (size_t i = 0; i < RANGES; i++) {
        size_t next = (first + i) % RANGES;
        if (next != named) {
            assert_int_equal(list[left++].sequence, ranges[next].sequence);
        }
    }
}

static void the_named_range_is_taken_and_the_others_stay_in_order(void **state)
{
    (void)state;
    for (size_t first = 0; first < RANGES; first++) {
        for (size_t named = 0; named < RANGES; named++) {
            take(first, named);
        }
    }
}

static void a_range_that_is_not_there_takes_none(void **state)
{
    (void)state;
    static const struct record_released absent[] = {
        {.stream = 3, .file = 1, .begin = 10},
        {.stream = 1, .file = 3, .begin = 10},
        {.stream = 1, .file = 1, .begin = 30},
        {.stream = 2, .file = 2, .begin = 20},
    };
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        struct record_quarantine list[RANGES], out;
        size_t count = RANGES;
        memcpy(list, ranges, sizeof list);
        assert_false(record_take_range(&absent[i], list, &count, &out));
        assert_int_equal(count, RANGES);
        assert_memory_equal(list, ranges, sizeof list);
    }
}

static void lines_are_stored_or_refused_as_the_record_says(void **state)
{
    (void)state;
    static const struct {
        enum settled_how how;
        uint64_t lines;
        uint64_t refused_lines;
    } row[] = {
        {SETTLED_ACKED, 7, 0},
        {SETTLED_UNPROVEN, 7, 0},
        {SETTLED_REFUSED_FINAL, 0, 7},
        {SETTLED_QUARANTINED, 0, 7},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        uint64_t lines = 0, refused_lines = 0;
        struct record_settled settled = {.lines = 7, .how = (uint8_t)row[i].how};
        record_apply_settled(&settled, &lines, &refused_lines);
        assert_int_equal(lines, row[i].lines);
        assert_int_equal(refused_lines, row[i].refused_lines);
    }
}

static void a_released_range_is_refused_no_longer(void **state)
{
    (void)state;
    for (int stored = 0; stored < 2; stored++) {
        uint64_t lines = 5, refused_lines = 4;
        struct record_released released = {.stored = stored};
        struct record_quarantine range = {.lines = 3};
        record_apply_released(&released, &range, &lines, &refused_lines);
        assert_int_equal(lines, stored ? 8 : 5);
        assert_int_equal(refused_lines, 1);
        record_apply_released(&released, &range, &lines, &refused_lines);
        assert_int_equal(refused_lines, 0); /* a damaged journal counted fewer */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_named_range_is_taken_and_the_others_stay_in_order),
        cmocka_unit_test(a_range_that_is_not_there_takes_none),
        cmocka_unit_test(lines_are_stored_or_refused_as_the_record_says),
        cmocka_unit_test(a_released_range_is_refused_no_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
