/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for each row of the agent's option table. */
#include "tests/support/check.h"

#include <string.h>

#include "agent/options/option_find.h"
#include "agent/options/options.h"

static void names_are_unique(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_rows_count; i++) {
        const struct option_row *a = &option_rows[i];
        for (size_t k = 0; k < i; k++) {
            const struct option_row *b = &option_rows[k];
            assert_string_not_equal(a->flag, b->flag);
            assert_true(!a->env || !b->env || strcmp(a->env, b->env) != 0);
            assert_true(!a->key || !b->key || strcmp(a->key, b->key) != 0);
            assert_true(!a->letter || a->letter != b->letter);
            assert_true(!option_is_built(a) || !option_is_built(b) || a->at != b->at);
        }
    }
}

static void each_row_has_what_its_kind_needs(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_rows_count; i++) {
        const struct option_row *row = &option_rows[i];
        assert_true(row->at < sizeof(struct options));
        assert_int_equal(row->choices != NULL, row->kind == KIND_CHOICE);
        assert_true(row->help || row->kind == KIND_IGNORED);
        bool number = row->kind == KIND_COUNT || row->kind == KIND_DURATION;
        assert_true(number || (!row->minimum && !row->maximum && !row->zero_is_default));
        assert_true(!number || row->fallback);
        /* option_copy copies no text. */
        assert_true(!row->reloadable || row->kind != KIND_TEXT);
        assert_true(!row->env || strncmp(row->env, "GPUFL_", 6) == 0);
    }
}

static void each_row_is_found_by_its_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_rows_count; i++) {
        const struct option_row *row = &option_rows[i];
        assert_ptr_equal(option_of_flag(row->flag, strlen(row->flag)), row);
        assert_true(!row->key || option_of_key(row->key) == row);
        assert_true(!row->env || option_of_env(row->env) == row);
        assert_true(!row->letter || option_of_letter(row->letter) == row);
        assert_true(!option_is_built(row) || option_of_field(row->at) == row);
    }
    assert_null(option_of_flag("folde", 5));
    assert_null(option_of_flag("folders", 5));
    assert_null(option_of_key("folder"));
    assert_null(option_of_env("GPUFL_AGENT"));
    assert_null(option_of_letter('\0'));
}

static void assert_near(const char *got, const char *want)
{
    assert_string_equal(got ? got : "none", want);
}

static void a_misspelled_name_finds_the_nearest(void **state)
{
    (void)state;
    assert_near(option_nearest_flag("folde"), "folder");
    assert_near(option_nearest_flag("flush_interval"), "flush-interval");
    assert_near(option_nearest_flag("frobnicate"), "none");
    assert_near(option_nearest_flag("brokres"), "none"); /* Kafka is not built in */
    assert_near(option_nearest_key("publisher", "hostURL"), "publisher.hostUrl");
    assert_near(option_nearest_key("agent", "hostUrl"), "none");
    assert_near(option_nearest_key("pub", "hostUrl"), "none");
    assert_near(option_nearest_key(NULL, "hostUrl"), "publisher.hostUrl");
    assert_near(option_nearest_env(NULL, "LOGLEVEL"), "GPUFL_AGENT_LOG_LEVEL");
    assert_near(option_nearest_env(NULL, "TOKEN"), "GPUFL_HTTP_TOKEN");
    assert_near(option_nearest_env(NULL, "X"), "none");
    assert_near(option_nearest_env("GPUFL_API_", "PTH"), "GPUFL_API_PATH");
    assert_near(option_nearest_env("GPUFL_LOG_", "PATH"), "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(each_row_has_what_its_kind_needs),
        cmocka_unit_test(each_row_is_found_by_its_names),
        cmocka_unit_test(a_misspelled_name_finds_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
