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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_documented_words_are_true)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
