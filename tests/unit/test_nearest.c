/* SPDX-License-Identifier: Apache-2.0 */
/* What is suggested for a misspelled flag, verb or key. */
#include "tests/support/check.h"

#include <string.h>

#include "base/nearest.h"

static const char *const names[] = {"backend-url", "api-key", "folder",
                                    NULL,          "upload",  "flush-interval"};

static void the_nearest_name_is_suggested(void **state)
{
    (void)state;
    static const struct {
        const char *word, *want;
    } row[] = {
        {"backend-ulr", "backend-url"},
        {"backend_url", "backend-url"},
        {"apikey", "api-key"},
        {"foldre", "folder"},
        {"uplaod", "upload"},
        {"Upload", "upload"},
        {"flush-intervall", "flush-interval"},
        {"uplzzd", "upload"},
        {"uzzzad", NULL},                     /* two edits of six, three */
        {"ofdler", "folder"},                 /* two swaps are two edits */
        {"flush_intzzzzl", "flush-interval"}, /* four of 14: `_` for `-` is none */
        {"flush+intzzzzl", NULL},
        {"xyz", NULL},
        {"", NULL},
        {"up", NULL},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const char *got = nearest_name(row[i].word, names, sizeof names / sizeof *names);
        if (row[i].want) {
            assert_non_null(got);
            assert_string_equal(got, row[i].want);
        } else {
            assert_null(got);
        }
    }
}

static void a_long_word_is_near_nothing(void **state)
{
    (void)state;
    char word[1000];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assert_null(nearest_name(word, names, sizeof names / sizeof *names));
}

static void one_edit_is_a_slip(void **state)
{
    (void)state;
    static const char *const slip[] = {"LOG_DIR", "LGO_DIR", "LOGDIR", "LOG_DIRS",
                                       "log-dor"};
    static const char *const other[] = {"LIB_DIR", "LOG_DIR_2", "", "LO_DI"};
    for (size_t i = 0; i < sizeof slip / sizeof *slip; i++) {
        assert_true(nearest_is_slip(slip[i], "LOG_DIR"));
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        assert_false(nearest_is_slip(other[i], "LOG_DIR"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_name_is_suggested),
        cmocka_unit_test(one_edit_is_a_slip),
        cmocka_unit_test(a_long_word_is_near_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
