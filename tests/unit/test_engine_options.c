/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent's options mean for the engine. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/engine_options.h"
#include "agent/options/option_value.h"

static void defaults(struct options *o)
{
    char why[512];
    memset(o, 0, sizeof *o);
    assert_int_equal(option_set_defaults(o, why), GPUFL_OK);
}

static void the_flush_interval_is_split_between_watcher_and_engine(void **state)
{
    (void)state;
    static const struct {
        uint64_t flush_ms, gather_ms, engine_ms;
    } row[] = {{500, 100, 400},
               {0, 2, 0},
               {1, 2, 0},
               {2, 2, 0},
               {50, 10, 40},
               {1000, 100, 900},
               {3600000, 100, 3599900}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct options o = {.flush_interval_ms = row[i].flush_ms};
        assert_int_equal(engine_options_gather_ms(&o), row[i].gather_ms);
        assert_int_equal(engine_options_flush_ms(&o), row[i].engine_ms);
    }
}

static void files_are_deleted_as_asked(void **state)
{
    (void)state;
    static const struct {
        enum delete_mode mode;
        bool retain;
        enum engine_delete want;
    } row[] = {
        {DELETE_ACKED_AUTO, false, DELETE_WINDOWS},
        {DELETE_ACKED_NEVER, false, DELETE_NEVER},
        {DELETE_ACKED_ALL, false, DELETE_ALL},
        {DELETE_ACKED_AUTO, true, DELETE_NEVER},
        {DELETE_ACKED_ALL, true, DELETE_NEVER},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct options o;
        struct engine_config config;
        defaults(&o);
        o.delete_acked = row[i].mode;
        o.retain_acked_payloads = row[i].retain;
        engine_options(&o, &config);
        assert_int_equal(config.delete_acked, row[i].want);
        option_values_free(&o);
    }
}

static void values_arrive_in_the_engine(void **state)
{
    (void)state;
    struct options o;
    struct engine_config config;
    defaults(&o);
    engine_options(&o, &config);
    assert_int_equal(config.max_batch_bytes, 1048576);
    assert_int_equal(config.max_batch_lines, 5000);
    assert_int_equal(config.max_requests_per_second, 50);
    assert_false(config.skip_on_quota || config.memory_state || config.one_owner);
    o.compression = COMPRESS_GZIP;
    o.live_identity = IDENTITY_OFF;
    o.zstd_level = 7;
    o.on_quota = QUOTA_SKIP;
    o.state = STATE_IN_MEMORY;
    o.require_owner_uid = "1000";
    engine_options(&o, &config);
    assert_int_equal(config.compression, COMPRESS_GZIP);
    assert_int_equal(config.identity, IDENTITY_OFF);
    assert_int_equal(config.zstd_level, 7);
    assert_true(config.skip_on_quota && config.memory_state && config.one_owner);
    assert_int_equal(config.owner, 1000);
    o.require_owner_uid = NULL;
    option_values_free(&o);
}

static void a_missing_cursor_is_none_and_a_broken_one_an_error(void **state)
{
    (void)state;
    char path[64];
    char why[512];
    char want[600];
    struct log log = {0};
    struct java_cursor *cursor;
    snprintf(path, sizeof path, "/tmp/gpufl-cursor-%d.json", getpid());
    struct options o = {.cursor_file = path};
    assert_int_equal(engine_options_cursor(&o, &log, &cursor, why), GPUFL_OK);
    assert_null(cursor);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("[]", f);
    fclose(f);
    assert_int_not_equal(engine_options_cursor(&o, &log, &cursor, why), GPUFL_OK);
    snprintf(want, sizeof want,
             "--cursor-file: %s is not a cursor file of the existing agent: ", path);
    assert_memory_equal(why, want, strlen(want));
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_flush_interval_is_split_between_watcher_and_engine),
        cmocka_unit_test(files_are_deleted_as_asked),
        cmocka_unit_test(values_arrive_in_the_engine),
        cmocka_unit_test(a_missing_cursor_is_none_and_a_broken_one_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
