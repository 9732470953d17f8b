/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the agent's options: each kind, its bounds, its defaults, its messages. */
#include "tests/support/check.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "agent/options/option_find.h"
#include "agent/options/option_value.h"

static const struct option_row *row_of(const char *flag)
{
    const struct option_row *row = option_of_flag(flag, strlen(flag));
    assert_non_null(row);
    return row;
}

/* \return the message, "" = none. */
static const char *set(struct options *o, const char *flag, const char *value)
{
    static char why[512];
    char name[OPTION_NAME_MAX];
    snprintf(name, sizeof name, "--%s", flag);
    struct option_setter by = {.source = SOURCE_FLAG, .name = name};
    return option_set(o, row_of(flag), by, value, why) == GPUFL_OK ? "" : why;
}

static void values_are_taken_or_refused_by_kind(void **state)
{
    (void)state;
    static const struct {
        const char *flag, *value, *why; /* "" = taken */
    } row[] = {
        {"folder", "", ""},
        {"folder", "/any thing", ""},
        {"timeout", "7", ""},
        {"timeout", "0", ""},
        {"timeout", "-1",
         "--timeout: invalid value '-1' (expected a whole number up to 4294967295)"},
        {"timeout", "4294967296",
         "--timeout: invalid value '4294967296' (expected a whole number up to "
         "4294967295)"},
        {"timeout", "7s",
         "--timeout: invalid value '7s' (expected a whole number up to 4294967295)"},
        {"timeout", "",
         "--timeout: invalid value '' (expected a whole number up to 4294967295)"},
        {"zstd-level", "1", ""},
        {"zstd-level", "19", ""},
        {"zstd-level", "0",
         "--zstd-level: invalid value '0' (expected a whole number from 1 to 19)"},
        {"zstd-level", "20",
         "--zstd-level: invalid value '20' (expected a whole number from 1 to 19)"},
        {"stream-max-bytes", "67108864", ""},
        {"stream-max-bytes", "0", ""},
        {"stream-max-bytes", "67108865",
         "--stream-max-bytes: invalid value '67108865' (expected a whole number from 1 "
         "to 67108864)"},
        {"flush-interval", "250ms", ""},
        {"flush-interval", "0", ""},
        {"flush-interval", "soon",
         "--flush-interval: invalid value 'soon' (expected a duration such as 250ms, "
         "30s, 5m or 1h, with a number up to 4294967295)"},
        {"flush-interval", "1d",
         "--flush-interval: invalid value '1d' (expected a duration such as 250ms, 30s, "
         "5m or 1h, with a number up to 4294967295)"},
        {"rescan-interval", "4294967295h", ""},
        {"rescan-interval", "4294967296h",
         "--rescan-interval: invalid value '4294967296h' (expected a duration above 0 "
         "such as 250ms, 30s, 5m or 1h, with a number up to 4294967295)"},
        {"compression", "gzip", ""},
        {"compression", "lz4",
         "--compression: invalid value 'lz4' (expected auto, zstd, gzip or none)"},
        {"compression", "gz",
         "--compression: invalid value 'gz' (expected auto, zstd, gzip or none)"},
        {"compression", "",
         "--compression: invalid value '' (expected auto, zstd, gzip or none)"},
        {"state", "disc", "--state: invalid value 'disc' (expected disk or memory)"},
        {"salvage", "on", ""},
        {"upload-mode", "stream", ""},
        {"upload-mode", "STREAM", ""},
        {"upload-mode", "legacy",
         "--upload-mode: the per-event legacy mode is not built in (use stream with a "
         "backend that has /events/stream)"},
        {"prune-failed", "false", ""},
        {"prune-failed", "0", ""},
        {"prune-failed", "true",
         "--prune-failed: failed sessions are never deleted (remove them with your own "
         "tool)"},
        {"url", "", "--url: replaced by --host (GPUFL_HTTP_HOST, publisher.hostUrl)"},
        {"brokers", "a:9092", ""},
        {"archiver-bucket", "b", ""},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct options o = {0};
        assert_string_equal(set(&o, row[i].flag, row[i].value), row[i].why);
        option_values_free(&o);
    }
}

static void a_switch_takes_words_for_on_and_off_alone(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool on;
    } row[] = {{"true", true},   {"1", true},  {"yes", true}, {"On", true},
               {"FALSE", false}, {"0", false}, {"no", false}, {"off", false}};
    static const char *const wrong[] = {"", "00", "2", "ture", "maybe", "x"};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct options o = {.salvage = !row[i].on};
        assert_string_equal(set(&o, "salvage", row[i].value), "");
        assert_int_equal(o.salvage, row[i].on);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct options o = {0};
        char why[200];
        snprintf(why, sizeof why,
                 "--salvage: invalid value '%s' (expected true, yes, on or 1, or false, "
                 "no, off or 0)",
                 wrong[i]);
        assert_string_equal(set(&o, "salvage", wrong[i]), why);
    }
}

static void each_choice_of_each_option_is_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_rows_count; i++) {
        const struct option_row *row = &option_rows[i];
        for (int k = 0; row->choices && row->choices[k]; k++) {
            struct options o = {0};
            int value;
            assert_string_equal(set(&o, row->flag, row->choices[k]), "");
            char loud[32];
            size_t len = 0;
            for (const char *c = row->choices[k]; *c && len < sizeof loud - 1; c++) {
                loud[len++] = (char)toupper((unsigned char)*c);
            }
            loud[len] = '\0';
            assert_string_equal(set(&o, row->flag, loud), "");
            memcpy(&value, (char *)&o + row->at, sizeof value);
            assert_int_equal(value, k);
        }
    }
}

static void choices_mean_what_their_names_say(void **state)
{
    (void)state;
    struct options o = {0};
    assert_string_equal(set(&o, "compression", "none"), "");
    assert_string_equal(set(&o, "live-identity", "off"), "");
    assert_string_equal(set(&o, "delete-acked", "acknowledged"), "");
    assert_string_equal(set(&o, "on-quota", "skip"), "");
    assert_string_equal(set(&o, "log-level", "debug"), "");
    assert_string_equal(set(&o, "landlock", "require"), "");
    assert_int_equal(o.compression, COMPRESS_NONE);
    assert_int_equal(o.live_identity, IDENTITY_OFF);
    assert_int_equal(o.delete_acked, DELETE_ACKED_ALL);
    assert_int_equal(o.on_quota, QUOTA_SKIP);
    assert_int_equal(o.log_level, LOG_AT_DEBUG);
    assert_int_equal(o.landlock, CONFINE_REQUIRE);
}

static void defaults_are_those_of_the_manual(void **state)
{
    (void)state;
    struct options o = {0};
    char why[512];
    assert_int_equal(option_set_defaults(&o, why), GPUFL_OK);
    assert_string_equal(o.log_types, "device,scope,system,sass");
    assert_string_equal(o.type, "http");
    assert_string_equal(o.api_version, "v1");
    assert_int_equal(o.connect_timeout_s, 10);
    assert_int_equal(o.read_timeout_ms, 30000);
    assert_int_equal(o.stream_max_lines, 5000);
    assert_int_equal(o.stream_max_bytes, 1048576);
    assert_int_equal(o.flush_interval_ms, 500);
    assert_int_equal(o.max_requests_per_second, 50);
    assert_int_equal(o.rescan_interval_ms, 10000);
    assert_int_equal(o.orphan_timeout_ms, 3600 * 1000);
    assert_int_equal(o.drain_timeout_ms, 25000);
    assert_int_equal(o.zstd_level, 1);
    assert_int_equal(o.compression, COMPRESS_AUTO);
    assert_int_equal(o.log_level, LOG_AT_INFO);
    assert_false(o.salvage);
    assert_null(o.folder);
    for (size_t i = 0; i < option_rows_count; i++) {
        assert_int_equal(o.source[i], SOURCE_DEFAULT);
    }
    option_values_free(&o);
    assert_null(o.log_types);
}

static void nought_is_the_default_where_the_existing_agent_says_so(void **state)
{
    (void)state;
    struct options o = {0};
    assert_string_equal(set(&o, "timeout", "0"), "");
    assert_string_equal(set(&o, "stream-max-lines", "0"), "");
    assert_string_equal(set(&o, "stream-max-bytes", "0"), "");
    assert_string_equal(set(&o, "max-requests-per-second", "0"), "");
    assert_int_equal(o.connect_timeout_s, 10);
    assert_int_equal(o.stream_max_lines, 5000);
    assert_int_equal(o.stream_max_bytes, 1048576);
    assert_int_equal(o.max_requests_per_second, 0);
}

static void an_option_is_named_as_it_was_given(void **state)
{
    (void)state;
    static const struct {
        enum option_source source;
        const char *name;
    } row[] = {{SOURCE_DEFAULT, "--listen"},
               {SOURCE_FILE, "agent.listen"},
               {SOURCE_ENVIRONMENT, "GPUFL_AGENT_LISTEN"},
               {SOURCE_FLAG, "--listen"}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct options o = {0};
        char name[OPTION_NAME_MAX];
        o.source[row_of("listen") - option_rows] = row[i].source;
        assert_string_equal(option_name_used(&o, row_of("listen"), name), row[i].name);
        char why[512] = "--listen: 'x': in use (see --help)", want[512];
        snprintf(want, sizeof want, "%s: 'x': in use (see --help)", row[i].name);
        option_blame_source(&o, why);
        assert_string_equal(why, want);
        snprintf(why, sizeof why, "folder: --listen: no");
        option_blame_source(&o, why);
        assert_string_equal(why, "folder: --listen: no");
    }
}

static void values_are_compared_and_copied_by_kind(void **state)
{
    (void)state;
    static const struct {
        const char *flag, *a, *b;
    } row[] = {{"folder", "x", "y"},
               {"timeout", "1", "2"},
               {"flush-interval", "1s", "2s"},
               {"salvage", "true", "false"},
               {"log-level", "warn", "debug"}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const struct option_row *of = row_of(row[i].flag);
        struct options a = {0};
        struct options b = {0};
        assert_false(option_differs(of, &a, &b));
        assert_string_equal(set(&a, row[i].flag, row[i].a), "");
        assert_string_equal(set(&b, row[i].flag, row[i].b), "");
        assert_true(option_differs(of, &a, &b));
        if (of->kind != KIND_TEXT) {
            option_copy(of, &a, &b);
            assert_false(option_differs(of, &a, &b));
        }
        option_values_free(&a);
        option_values_free(&b);
    }
}

static void no_text_and_empty_text_are_the_same(void **state)
{
    (void)state;
    struct options a = {0};
    struct options b = {0};
    assert_string_equal(set(&a, "folder", ""), "");
    assert_false(option_differs(row_of("folder"), &a, &b));
    option_values_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_taken_or_refused_by_kind),
        cmocka_unit_test(a_switch_takes_words_for_on_and_off_alone),
        cmocka_unit_test(each_choice_of_each_option_is_taken),
        cmocka_unit_test(choices_mean_what_their_names_say),
        cmocka_unit_test(defaults_are_those_of_the_manual),
        cmocka_unit_test(nought_is_the_default_where_the_existing_agent_says_so),
        cmocka_unit_test(an_option_is_named_as_it_was_given),
        cmocka_unit_test(values_are_compared_and_copied_by_kind),
        cmocka_unit_test(no_text_and_empty_text_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
