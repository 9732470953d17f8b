/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a caller that was compiled with an older header, and values that are wrong.
 */
#include "tests/support/check.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector-lib/core/settings.h"

#define END_OF(field)                                                                    \
    (offsetof(struct gpufl_init_options, field) +                                        \
     sizeof(((struct gpufl_init_options *)NULL)->field))

/* As session_open does. */
static gpufl_status settings_resolve(const struct gpufl_init_options *options,
                                     struct settings *out, char why[256])
{
    static struct config_file file;
    struct gpufl_init_options given;
    memset(&file, 0, sizeof file);
    gpufl_status status = settings_begin(options, &given, out, why);
    if (status == GPUFL_OK) {
        settings_name_file(&given, &file);
        if (*file.path && !*file.fault) {
            config_file_read(&file);
        }
        status = settings_join(&given, &file, out, why);
    }
    return status;
}

static void resolve(const struct gpufl_init_options *given, struct settings *out)
{
    char why[256];
    assert_int_equal(settings_resolve(given, out, why), GPUFL_OK);
}

static void a_field_counts_only_if_the_size_holds_all_of_it(void **state)
{
    (void)state;
    struct gpufl_init_options given = GPUFL_INIT_OPTIONS_DEFAULT;
    struct settings out;
    given.app_name = "mine";
    given.log_path = "there";
    given.system_sample_rate_ms = 1000;
    for (size_t part = 1; part < sizeof(int); part++) {
        given.struct_size = offsetof(struct gpufl_init_options, system_sample_rate_ms);
        given.struct_size += part;
        resolve(&given, &out);
        assert_int_equal(out.sample_rate_ms, 0);
    }
    given.struct_size = END_OF(system_sample_rate_ms);
    resolve(&given, &out);
    assert_int_equal(out.sample_rate_ms, 1000);
    given.struct_size = END_OF(log_path) - 1; /* most of a pointer */
    resolve(&given, &out);
    assert_string_equal(out.app_name, "mine");
    assert_string_equal(out.log_path, "mine");
    given.struct_size = END_OF(log_path);
    resolve(&given, &out);
    assert_string_equal(out.log_path, "there");
}

static void a_longer_struct_is_read_as_far_as_it_is_known(void **state)
{
    (void)state;
    struct {
        struct gpufl_init_options known;
        char later[64];
    } given = {.known = GPUFL_INIT_OPTIONS_DEFAULT};
    struct settings out;
    memset(given.later, 0x5a, sizeof given.later);
    given.known.struct_size = sizeof given;
    given.known.kernel_details = "per_launch";
    resolve(&given.known, &out);
    assert_true(out.details_per_launch);
}

static const struct {
    const char *variable;
    const char *key;
    const char *value; /* as the file has it; text in the environment */
    const char *expected;
} wrong[] = {
    {"GPUFL_TRACE_BUFFER_KIB", "trace_buffer_kib", "63", "whole number from 64 to 16384"},
    {"GPUFL_TRACE_BUFFER_KIB", "trace_buffer_kib", "16385", "from 64 to 16384"},
    {"GPUFL_TRACE_BUFFER_KIB", "trace_buffer_kib", "99999999999", "from 64 to 16384"},
    {"GPUFL_TRACE_BUFFER_KIB", "trace_buffer_kib", "1.5", "from 64 to 16384"},
    {"GPUFL_PC_SAMPLING_BUFFER_MIB", "pc_sampling_buffer_mib", "15", "from 16 to 1024"},
    {"GPUFL_PC_SAMPLING_BUFFER_MIB", "pc_sampling_buffer_mib", "1025", "from 16 to 1024"},
    {"GPUFL_SIMULATED_GPUS", "simulated_gpus", "17", "from 0 to 16"},
    {"GPUFL_SIMULATED_GPUS", "simulated_gpus", "-1", "from 0 to 16"},
    {"GPUFL_SYSTEM_SAMPLE_RATE_MS", "system_sample_rate_ms", "-1", "from 0 to 86400000"},
    {"GPUFL_SYSTEM_SAMPLE_RATE_MS", "system_sample_rate_ms", "86400001", "to 86400000"},
    {"GPUFL_PROFILING_ENGINE", "profiling_engine", "\"Foo\"",
     "Monitor, Trace, PcSampling, SassMetrics, RangeProfiler, Deep, PmSampling or "
     "RangeProfilerKernelReplay"},
    {"GPUFL_KERNEL_DETAILS", "kernel_details", "\"all\"", "per_launch"},
    {NULL, "pm_sampling_interval_us", "0", "from 1 to 1000000"},
    {NULL, "pm_sampling_max_samples", "0", "from 1 to 1048576"},
    {NULL, "backend", "\"Intel\"", "Auto, Nvidia, Amd or None"},
};

#define WRONG (sizeof wrong / sizeof wrong[0])

static char said[4096];

static void keep(void *arg, enum gpufl_log_level level, const char *line)
{
    (void)arg;
    assert_int_equal(level, GPUFL_LOG_WARNING);
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", line);
}

/* Resolves without options: \p named and what is expected are said, the default counts.
 */
static void ignores(const char *named, const char *expected)
{
    struct settings got, want;
    char why[256];
    said[0] = '\0';
    gpufl_set_log_callback(keep, NULL);
    assert_int_equal(settings_resolve(NULL, &got, why), GPUFL_OK);
    gpufl_set_log_callback(NULL, NULL);
    clearenv();
    resolve(NULL, &want);
    assert_memory_equal(&got, &want, sizeof got);
    if (strncmp(said, named, strlen(named)) != 0 || !strstr(said, expected) ||
        strchr(said, '\n')[1]) {
        fail_msg("want %s%s, got %s", named, expected, said);
    }
}

static void
what_is_wrong_in_the_environment_is_named_and_keeps_no_job_from_recording(void **state)
{
    (void)state;
    char named[400], value[64], name[300];
    for (size_t i = 0; i < WRONG; i++) {
        const char *text = wrong[i].value + (wrong[i].value[0] == '"');
        snprintf(value, sizeof value, "%.*s", (int)strcspn(text, "\""), text);
        if (wrong[i].variable) {
            setenv(wrong[i].variable, value, 1);
            snprintf(named, sizeof named, "%s=%s ignored: expected ", wrong[i].variable,
                     value);
            ignores(named, wrong[i].expected);
        }
    }
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    setenv("GPUFL_APP_NAME", name, 1);
    ignores("GPUFL_APP_NAME=aaa", "... ignored: expected 255 bytes at most");
}

static void
what_is_wrong_in_the_file_is_named_and_keeps_no_job_from_recording(void **state)
{
    (void)state;
    char path[] = "/tmp/gpufl-settings-XXXXXX", named[400];
    int fd = mkstemp(path);
    for (size_t i = 0; i < WRONG; i++) {
        const char *text = wrong[i].value + (wrong[i].value[0] == '"');
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        dprintf(fd, "{\"%s\": %s}", wrong[i].key, wrong[i].value);
        setenv("GPUFL_CONFIG_FILE", path, 1);
        snprintf(named, sizeof named, "%s: %s: %.*s ignored: expected ", path,
                 wrong[i].key, (int)strcspn(text, "\""), text);
        ignores(named, wrong[i].expected);
    }
    close(fd);
    unlink(path);
}

/* Leaves what is said of a file of that text, and the path that it begins with. */
static void settings_of_file(const char *text, struct settings *out, char named[400])
{
    char path[] = "/tmp/gpufl-settings-XXXXXX";
    int fd = mkstemp(path);
    dprintf(fd, "%s", text);
    close(fd);
    setenv("GPUFL_CONFIG_FILE", path, 1);
    said[0] = '\0';
    gpufl_set_log_callback(keep, NULL);
    resolve(NULL, out);
    gpufl_set_log_callback(NULL, NULL);
    clearenv();
    unlink(path);
    snprintf(named, 400, "%s: ", path);
}

static void a_key_that_the_file_has_twice_is_said(void **state)
{
    (void)state;
    struct settings out;
    char want[400];
    settings_of_file(
        "{\"simulated_gpus\": 1, \"app_name\": \"a\", \"simulated_gpus\": 2}", &out,
        want);
    strcat(want, "simulated_gpus is there again (the last one counts)\n");
    assert_string_equal(said, want);
    assert_int_equal(out.simulated_gpus, 2);
}

static void a_file_names_no_other_file(void **state)
{
    (void)state;
    struct settings out;
    char want[400];
    settings_of_file("{\"config_file\": \"/other\", \"simulated_gpus\": 2}", &out, want);
    strcat(want, "config_file ignored: a file names no other one\n");
    assert_string_equal(said, want);
    assert_int_equal(out.simulated_gpus, 2);
}

/* What is said names the value by its begin, and then the reason. */
static void a_long_value_leaves_room_for_the_reason(void **state)
{
    (void)state;
    static const char *const variable[][2] = {
        {"GPUFL_MAX_ENGINE", "; Monitor is taken"},
        {"GPUFL_LOG_ROTATE_BYTES", "from 1 to 1099511627776"},
        {"GPUFL_DISABLED", "false, no, off or 0"},
        {"GPUFL_PROFILING_ENGINE", "RangeProfilerKernelReplay"},
    };
    static char value[60001];
    struct settings out;
    memset(value, 'a', sizeof value - 1);
    gpufl_set_log_callback(keep, NULL);
    for (size_t i = 0; i < sizeof variable / sizeof variable[0]; i++) {
        said[0] = '\0';
        setenv(variable[i][0], value, 1);
        resolve(NULL, &out);
        clearenv();
        assert_non_null(strstr(said, variable[i][1]));
    }
    struct gpufl_init_options given = GPUFL_INIT_OPTIONS_DEFAULT;
    given.kernel_details = value;
    said[0] = '\0';
    resolve(&given, &out);
    assert_non_null(strstr(said, "expected per_launch"));
    gpufl_set_log_callback(NULL, NULL);
}

static void a_number_is_digits_alone(void **state)
{
    (void)state;
    static const char *const wrong_number[] = {
        " 5", "+5", "5 ", "0x5", "5e3", "1.5", "-", "", "9999999999999999999"};
    long long out = 7;
    for (size_t i = 0; i < sizeof wrong_number / sizeof wrong_number[0]; i++) {
        assert_false(option_fields_number(wrong_number[i], -10, 1ll << 50, &out));
    }
    assert_int_equal(out, 7);
    assert_true(option_fields_number("-5", -10, 10, &out));
    assert_int_equal(out, -5);
    assert_false(option_fields_number("11", -10, 10, &out));
}

static void a_file_that_is_too_long_is_said_to_be(void **state)
{
    (void)state;
    char path[] = "/tmp/gpufl-settings-XXXXXX", expected[200];
    struct gpufl_init_options given = GPUFL_INIT_OPTIONS_DEFAULT;
    struct settings out;
    int fd = mkstemp(path);
    static char blanks[CONFIG_FILE_MAX_BYTES];
    memset(blanks, ' ', sizeof blanks);
    memcpy(blanks, "{}", 2);
    given.config_file = path;
    gpufl_set_log_callback(keep, NULL);
    assert_int_equal(write(fd, blanks, sizeof blanks), sizeof blanks);
    said[0] = '\0';
    resolve(&given, &out);
    assert_string_equal(said, "");
    assert_int_equal(write(fd, " ", 1), 1);
    resolve(&given, &out);
    gpufl_set_log_callback(NULL, NULL);
    snprintf(expected, sizeof expected,
             "config_file: '%s' ignored: too long (expected 65536 bytes at most)\n",
             path);
    assert_string_equal(said, expected);
    close(fd);
    unlink(path);
}

static void refuses(const struct gpufl_init_options *given, const char *sentence)
{
    struct settings out;
    char why[256];
    assert_int_equal(settings_resolve(given, &out, why), GPUFL_ERR_USAGE);
    assert_string_equal(why, sentence);
}

static void what_is_wrong_in_code_is_refused(void **state)
{
    (void)state;
    struct gpufl_init_options given = GPUFL_INIT_OPTIONS_DEFAULT;
    char name[300], sentence[256];
    given.trace_buffer_kib = 63;
    refuses(&given, "trace_buffer_kib: invalid value 63 (expected a whole number from 64 "
                    "to 16384)");
    gpufl_init_options_default(&given);
    given.pm_sampling_interval_us = 0;
    refuses(&given, "pm_sampling_interval_us: invalid value 0 (expected a whole number "
                    "from 1 to 1000000)");
    gpufl_init_options_default(&given);
    given.profiling_engine = (enum gpufl_profiling_engine)8;
    refuses(&given, "profiling_engine: invalid value 8 (expected Monitor, Trace, "
                    "PcSampling, SassMetrics, RangeProfiler, Deep, PmSampling or "
                    "RangeProfilerKernelReplay)");
    gpufl_init_options_default(&given);
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    given.app_name = name;
    snprintf(sentence, sizeof sentence,
             "app_name: '%.100s...' is too long (expected 255 bytes at most)", name);
    refuses(&given, sentence);
}

static void what_nobody_sets_has_its_documented_default(void **state)
{
    (void)state;
    struct settings out;
    clearenv();
    resolve(NULL, &out);
    assert_int_equal(out.shutdown_ms, 2000);
    assert_int_equal(out.rotate_bytes, 64 << 20);
    assert_int_equal(out.rotate_after_ms, 0);
    assert_int_equal(out.max_spool_bytes, 4ull << 30);
    assert_int_equal(out.min_free_bytes, 512ull << 20);
    setenv("GPUFL_SHUTDOWN_TIMEOUT_MS", "1500", 1);
    setenv("GPUFL_LOG_ROTATE_BYTES", "1", 1);
    resolve(NULL, &out);
    assert_int_equal(out.shutdown_ms, 1500);
    assert_int_equal(out.rotate_bytes, 1);
    clearenv();
}

/* The existing clients take `<dir>.log` for `<dir>`. */
/* GPUFL_DISABLED is the variable of `enabled`, and so beats the file both ways. What the
 * program switches off stays off. */
static void the_switch_of_the_environment_beats_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *variable; /* NULL = unset */
        const char *file;
        gpufl_status status;
    } given[] = {
        {"0", "{\"enabled\": false}", GPUFL_OK},
        {"False", "{\"enabled\": false}", GPUFL_OK},
        {"1", "{\"enabled\": true}", GPUFL_OFF},
        {"", "{\"enabled\": false}", GPUFL_OFF},
        {"2", "{\"enabled\": false}", GPUFL_OFF},
        {NULL, "{\"enabled\": false}", GPUFL_OFF},
        {NULL, "{\"enabled\": true}", GPUFL_OK},
    };
    char path[] = "/tmp/gpufl-settings-XXXXXX", why[256];
    struct gpufl_init_options off = GPUFL_INIT_OPTIONS_DEFAULT;
    struct settings out;
    int fd = mkstemp(path);
    off.enabled = false;
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        dprintf(fd, "%s", given[i].file);
        setenv("GPUFL_CONFIG_FILE", path, 1);
        if (given[i].variable) {
            setenv("GPUFL_DISABLED", given[i].variable, 1);
        }
        assert_int_equal(settings_resolve(NULL, &out, why), given[i].status);
        assert_int_equal(settings_resolve(&off, &out, why), GPUFL_OFF);
        clearenv();
    }
    close(fd);
    unlink(path);
}

static void the_end_of_the_log_path_is_cut_off(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"logs.log", "logs"},         {"a/b.log", "a/b"}, {"logs", "logs"},
        {"logs.log.log", "logs.log"}, {".log", ".log"},   {"logs.txt", "logs.txt"},
        {"logs.log/", "logs.log/"},   {"", "named"},
    };
    struct gpufl_init_options given = GPUFL_INIT_OPTIONS_DEFAULT;
    struct settings out;
    given.app_name = "named.log"; /* is cut, too, where it is the path */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        given.log_path = cases[i][0];
        resolve(&given, &out);
        assert_string_equal(out.log_path, cases[i][1]);
        assert_string_equal(out.app_name, "named.log");
    }
}

/* Callers of before left the padding behind the last field as it was, and their size
 * counts it: the later field begins behind it. */
static void the_padding_of_an_earlier_struct_stays_free(void **state)
{
    (void)state;
    if (sizeof(void *) == 8) {
        assert_int_equal(END_OF(device_details), 129);
        assert_int_equal(offsetof(struct gpufl_init_options, kernel_details), 136);
        assert_int_equal(offsetof(struct gpufl_init_options, trace_buffer_kib), 144);
        assert_int_equal(END_OF(trace_buffer_kib), 148);
        assert_int_equal(offsetof(struct gpufl_init_options, source_roots), 152);
        assert_int_equal(offsetof(struct gpufl_init_options, pc_sampling_buffer_mib),
                         160);
        assert_int_equal(sizeof(struct gpufl_init_options), 168);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_field_counts_only_if_the_size_holds_all_of_it),
        cmocka_unit_test(a_longer_struct_is_read_as_far_as_it_is_known),
        cmocka_unit_test(
            what_is_wrong_in_the_environment_is_named_and_keeps_no_job_from_recording),
        cmocka_unit_test(
            what_is_wrong_in_the_file_is_named_and_keeps_no_job_from_recording),
        cmocka_unit_test(a_key_that_the_file_has_twice_is_said),
        cmocka_unit_test(a_file_names_no_other_file),
        cmocka_unit_test(a_long_value_leaves_room_for_the_reason),
        cmocka_unit_test(a_number_is_digits_alone),
        cmocka_unit_test(a_file_that_is_too_long_is_said_to_be),
        cmocka_unit_test(what_is_wrong_in_code_is_refused),
        cmocka_unit_test(what_nobody_sets_has_its_documented_default),
        cmocka_unit_test(the_switch_of_the_environment_beats_the_file),
        cmocka_unit_test(the_end_of_the_log_path_is_cut_off),
        cmocka_unit_test(the_padding_of_an_earlier_struct_stays_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
