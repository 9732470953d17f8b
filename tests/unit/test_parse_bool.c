/* SPDX-License-Identifier: Apache-2.0 */
/* Which words switch something on. */
#include "tests/support/check.h"

#include "base/parse_bool.h"

static void only_the_documented_words_are_true(void **state)
{
    (void)state;
    static const char *const yes[] = {"1",   "true", "TRUE", "yes",
                                      "Yes", "on",   "oN",   " on\t"};
    static const char *const no[] = {"0", "false",  "no",  "off", "",
                                     "2", "truely", "o n", " "};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        assert_true(parse_bool(yes[i]));
    }
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        assert_false(parse_bool(no[i]));
    }
    assert_false(parse_bool(NULL));
}

static void a_word_that_is_neither_is_told_from_off(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool known, on;
    } row[] = {{"1", true, true},       {"TRUE", true, true},  {" yes", true, true},
               {"On ", true, true},     {"0", true, false},    {"False", true, false},
               {"no", true, false},     {"OFF", true, false},  {"", false, false},
               {"2", false, false},     {"00", false, false},  {"ture", false, false},
               {"maybe", false, false}, {"o n", false, false}, {NULL, false, false}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        bool on = !row[i].on;
        assert_int_equal(parse_switch(row[i].text, &on), row[i].known);
        assert_int_equal(on, row[i].known ? row[i].on : !row[i].on);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_documented_words_are_true),
        cmocka_unit_test(a_word_that_is_neither_is_told_from_off)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
