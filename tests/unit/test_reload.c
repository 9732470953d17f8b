/* SPDX-License-Identifier: Apache-2.0 */
/* What SIGHUP changes in a running agent. */
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>

#include "agent/options/option_find.h"
#include "agent/options/option_sources.h"
#include "agent/options/option_value.h"
#include "agent/options/reload.h"

static char *arguments[] = {"gpufl-agent", "--folder=/a", "--drain-timeout=7s", NULL};
#define ARGUMENTS 3

static void read_settings(struct options *o)
{
    char why[512];
    for (size_t i = 0; i < option_rows_count; i++) {
        if (option_rows[i].env) {
            unsetenv(option_rows[i].env);
        }
    }
    assert_int_equal(option_sources_read(ARGUMENTS, arguments, o, why), GPUFL_OK);
}

/* A value that differs from the default, by kind. */
static const char *another_value(const struct option_row *row)
{
    if (row->kind == KIND_SWITCH) {
        return row->fallback && strcmp(row->fallback, "true") == 0 ? "off" : "on";
    }
    return row->choices ? row->choices[strcmp(row->choices[0], row->fallback) == 0] : "7";
}

static void each_option_is_applied_or_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_rows_count; i++) {
        const struct option_row *row = &option_rows[i];
        struct options o;
        struct options before;
        char kept[512];
        char why[512];
        if (!option_is_built(row) || !row->env || row->secret ||
            strcmp(row->flag, "folder") == 0 || strcmp(row->flag, "drain-timeout") == 0) {
            continue;
        }
        read_settings(&o);
        before = o;
        setenv(row->env, another_value(row), 1);
        assert_int_equal(reload_options(ARGUMENTS, arguments, &o, kept, why), GPUFL_OK);
        assert_string_equal(kept, row->reloadable ? "" : row->flag);
        assert_int_equal(option_differs(row, &before, &o), row->reloadable);
        option_values_free(&o);
    }
}

static void a_flag_still_beats_the_environment(void **state)
{
    (void)state;
    struct options o;
    char kept[512];
    char why[512];
    read_settings(&o);
    setenv("GPUFL_AGENT_DRAIN_TIMEOUT", "9s", 1);
    setenv("GPUFL_SOURCE_FOLDER", "/b", 1);
    assert_int_equal(reload_options(ARGUMENTS, arguments, &o, kept, why), GPUFL_OK);
    assert_string_equal(kept, "");
    assert_int_equal(o.drain_timeout_ms, 7000);
    assert_string_equal(o.folder, "/a");
    option_values_free(&o);
}

static void a_wrong_value_changes_nothing(void **state)
{
    (void)state;
    struct options o;
    char kept[512];
    char why[512];
    read_settings(&o);
    setenv("GPUFL_AGENT_FLUSH_INTERVAL", "9s", 1);
    setenv("GPUFL_AGENT_LOG_LEVEL", "loud", 1);
    assert_int_equal(reload_options(ARGUMENTS, arguments, &o, kept, why),
                     GPUFL_ERR_USAGE);
    assert_string_equal(why, "GPUFL_AGENT_LOG_LEVEL: invalid value 'loud' (expected "
                             "error, warn, info or debug)");
    assert_int_equal(o.flush_interval_ms, 500);
    option_values_free(&o);
}

static void a_wiped_key_is_no_change(void **state)
{
    (void)state;
    struct options o;
    char kept[512];
    char why[512];
    read_settings(&o);
    setenv("GPUFL_HTTP_TOKEN", "secret", 1);
    assert_int_equal(reload_options(ARGUMENTS, arguments, &o, kept, why), GPUFL_OK);
    assert_string_equal(kept, "");
    assert_null(o.token);
    option_values_free(&o);
}

static void several_that_need_a_restart_are_listed(void **state)
{
    (void)state;
    struct options o;
    char kept[512];
    char why[512];
    read_settings(&o);
    setenv("GPUFL_HTTP_HOST", "http://c", 1);
    setenv("GPUFL_AGENT_SALVAGE", "1", 1);
    assert_int_equal(reload_options(ARGUMENTS, arguments, &o, kept, why), GPUFL_OK);
    assert_string_equal(kept, "host salvage");
    option_values_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_option_is_applied_or_named),
        cmocka_unit_test(a_flag_still_beats_the_environment),
        cmocka_unit_test(a_wrong_value_changes_nothing),
        cmocka_unit_test(a_wiped_key_is_no_change),
        cmocka_unit_test(several_that_need_a_restart_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
