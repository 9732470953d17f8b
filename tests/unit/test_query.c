/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and numbers of queries. */
#include "tests/support/check.h"

#include <string.h>

#include "backend/api/query.h"

static void a_path_is_a_session_and_a_part(void **state)
{
    (void)state;
    static const struct {
        const char *rest, *session, *part; /* session NULL = not of that form */
    } row[] = {
        {"/a", "a", NULL},
        {"/a/kernels", "a", "kernels"},
        {"/a/b/c", "a", "b/c"},
        {"/a/", "a", ""},
        {"//kernels", "", "kernels"},
        {"/", "", NULL},
        {"/../x", "..", "x"},
        {"", NULL, NULL},
        {"x", NULL, NULL},
        {"x/a", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct query_path path;
        bool good = query_path(row[i].rest, &path);
        assert_int_equal(good, row[i].session != NULL);
        if (good) {
            assert_string_equal(path.session, row[i].session);
        }
        if (good && row[i].part) {
            assert_string_equal(path.part, row[i].part);
        } else if (good) {
            assert_null(path.part);
        }
    }
}

static void a_path_that_is_too_long_is_refused(void **state)
{
    (void)state;
    struct query_path path;
    char rest[sizeof path.session + 2];
    memset(rest, 'a', sizeof rest);
    rest[0] = '/';
    rest[sizeof rest - 1] = '\0';
    assert_false(query_path(rest, &path));
    rest[sizeof rest - 2] = '\0';
    assert_true(query_path(rest, &path));
    assert_int_equal(strlen(path.session), sizeof path.session - 1);
}

static void a_number_outside_its_range_is_the_default(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } row[] = {
        {"1", 1},  {"10", 10}, {"007", 7}, {" 7", 5}, {"+7", 5},
        {"0", 5},  {"11", 5},  {"-1", 5},  {"", 5},   {"x", 5},
        {"1x", 5}, {"1 ", 5},  {"1.0", 5}, {NULL, 5}, {"99999999999999999999", 5},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        assert_int_equal(query_number(row[i].text, 1, 10, 5), row[i].value);
    }
    assert_true(query_number("9223372036854775807", 0, INT64_MAX, 0) == INT64_MAX);
}

static void what_is_wrong_with_an_argument_is_said(void **state)
{
    (void)state;
    static const struct query_argument none[] = {{0}};
    static const struct query_argument takes[] = {
        {"limit", 1, 10}, {"by", 0, 0}, {"file", 1, INT64_MAX}, {0}};
    static const struct {
        const char *name, *value;
        int place;
        const char *why;
    } row[] = {
        {"limit", "10", 0, NULL},
        {"by", "", 1, NULL},
        {"by", "11", 1, NULL},
        {"file", "9223372036854775807", 2, NULL},
        {"file", "9223372036854775808", -1,
         "file: 9223372036854775808: not a number from 1 to 9223372036854775807"},
        {"limit", "11", -1, "limit: 11: not a number from 1 to 10"},
        {"limit", "", -1, "limit: : not a number from 1 to 10"},
        {"limi", "1", -1, "limi: no argument of this path (expected limit, by, file)"},
        {"", "1", -1, ": no argument of this path (expected limit, by, file)"},
        {"limit", "0123456789012345678901234567890123456789x", -1,
         "limit: 0123456789012345678901234567890123456789: not a number from 1 to 10"},
    };
    char why[QUERY_WHY_BYTES];
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        assert_int_equal(query_argument_of(takes, row[i].name, row[i].value, why),
                         row[i].place);
        if (row[i].why) {
            assert_string_equal(why, row[i].why);
        }
    }
    assert_int_equal(query_argument_of(none, "x", "1", why), -1);
    assert_string_equal(why, "x: no argument of this path (expected none)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_a_session_and_a_part),
        cmocka_unit_test(a_path_that_is_too_long_is_refused),
        cmocka_unit_test(a_number_outside_its_range_is_the_default),
        cmocka_unit_test(what_is_wrong_with_an_argument_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
