/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison that judges simulated worlds: lines that are equal hide no loss. */
#include "tests/support/check.h"

#include <string.h>

#include "tests/sim/lines.h"

static void check_that(const char *written, const char *stored, unsigned missing,
                       unsigned twice, unsigned foreign)
{
    struct lines_compared c;
    lines_compare(&c, written, stored);
    if (c.missing != missing || c.twice != twice || c.foreign != foreign) {
        fail_msg("%u missing, %u twice, %u foreign: \"%s\" of \"%s\"", c.missing, c.twice,
                 c.foreign, stored, written);
    }
}

static void a_line_is_missing_or_comes_twice(void **state)
{
    (void)state;
    check_that("", "", 0, 0, 0);
    check_that("a\nb\nc\n", "a\nb\nc\n", 0, 0, 0);
    check_that("a\nb\nc\n", "a\nc\n", 1, 0, 0);
    check_that("a\nb\nc\n", "", 3, 0, 0);
    check_that("a\nb\nc\n", "a\nb\na\nb\nc\n", 0, 2, 0);
    check_that("a\nb\nc\n", "a\nc\nb\n", 1, 1, 0);
    check_that("a\nb\nc\n", "a\nx\nc\n", 1, 0, 1);
}

static void a_line_that_is_lost_beside_equal_ones_is_missing(void **state)
{
    (void)state;
    check_that("h\na\nh\nb\n", "h\nh\nb\n", 1, 0, 0);
    check_that("h\na\nh\nb\n", "h\na\nb\n", 1, 0, 0);
    check_that("h\na\nh\nb\n", "h\na\nh\n", 1, 0, 0);
    check_that("h\na\nh\nb\n", "h\nh\nh\nb\n", 1, 1, 0);
    check_that("h\na\nh\nb\n", "h\nh\na\nh\n", 1, 1, 0);
    check_that("h\na\nh\nb\nh\nc\n", "h\nh\na\nh\nh\nc\nh\nh\nc\n", 1, 4, 0);
    check_that("h\na\nh\nb\n", "h\nb\nh\na\n", 2, 2, 0);
}

static void a_line_that_comes_again_beside_equal_ones_is_all_that_is_wrong(void **state)
{
    (void)state;
    check_that("h\na\nh\nb\n", "h\nh\na\nh\nb\n", 0, 1, 0);
    check_that("h\na\nh\nb\n", "h\na\nh\nh\nb\nb\n", 0, 2, 0);
    check_that("h\na\nh\nb\nh\nc\n", "h\nh\na\nh\na\nh\nb\nh\nc\n", 0, 3, 0);
}

static void a_line_without_end_may_be_missing_and_has_its_place(void **state)
{
    (void)state;
    check_that("a\nb\nha", "a\nb\n", 0, 0, 0);
    check_that("a\nb\nha", "a\nb\nha\n", 0, 0, 0);
    check_that("a\nb\nha", "a\nb\nha\nha\n", 0, 1, 0);
    check_that("a\nb\nha", "a\nha\nb\n", 1, 1, 0);
    check_that("h\na\nh\nb\nha", "h\nh\na\nh\nha\n", 1, 1, 0);
    check_that("h\na\nh\nb\nha", "h\nh\na\nh\n", 1, 1, 0);
    check_that("h\na\nh\nb\nha", "h\nh\na\nh\nb\nha\n", 0, 1, 0);
}

static void of_equal_lines_the_last_ones_are_left_out(void **state)
{
    static const struct {
        const char *text, *left, *rest;
    } cases[] = {
        {"a\nb\na\n", "", "a\nb\na\n"},
        {"a\nb\na\n", "a\n", "a\nb\n"},
        {"a\nb\na\n", "a\na\nc\n", "b\n"},
        {"a\nb\nab\n", "ab\n", "a\nb\n"},
        {"", "a\n", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text out = {0};
        lines_without(&out, cases[i].text, cases[i].left);
        assert_int_equal(out.len, strlen(cases[i].rest));
        assert_memory_equal(out.len ? out.data : "", cases[i].rest, out.len);
        text_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_missing_or_comes_twice),
        cmocka_unit_test(a_line_that_is_lost_beside_equal_ones_is_missing),
        cmocka_unit_test(a_line_that_comes_again_beside_equal_ones_is_all_that_is_wrong),
        cmocka_unit_test(a_line_without_end_may_be_missing_and_has_its_place),
        cmocka_unit_test(of_equal_lines_the_last_ones_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
