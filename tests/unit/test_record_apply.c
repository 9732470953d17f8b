/* SPDX-License-Identifier: Apache-2.0 */
/* What the records of a journal change in counts. */
#include "tests/support/check.h"

#include "upload/journal/record_apply.h"

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

/* A backend may take a batch, and not all of it. */
static void lines_that_were_rejected_alone_are_refused(void **state)
{
    (void)state;
    uint64_t lines = 1, refused_lines = 2;
    struct record_settled settled = {
        .lines = 7, .rejected_lines = 3, .how = SETTLED_UNPROVEN};
    record_apply_settled(&settled, &lines, &refused_lines);
    assert_int_equal(lines, 8);
    assert_int_equal(refused_lines, 5);
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
        cmocka_unit_test(lines_are_stored_or_refused_as_the_record_says),
        cmocka_unit_test(lines_that_were_rejected_alone_are_refused),
        cmocka_unit_test(a_released_range_is_refused_no_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
