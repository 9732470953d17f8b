/* SPDX-License-Identifier: Apache-2.0 */
/* Which options of an upload are refused, and in whose words. */
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>

#include "upload/upload_options.h"

static struct gpufl_upload_options good(void)
{
    struct gpufl_upload_options o = GPUFL_UPLOAD_OPTIONS_DEFAULT;
    o.log_path = "logs";
    o.backend_url = "http://h";
    o.api_key = "k";
    return o;
}

static const char *as_flag(const char *field)
{
    return strcmp(field, "log_path") == 0 ? "DIR" : "--a-flag";
}

static void wrong_options_are_named(void **state)
{
    (void)state;
    struct gpufl_upload_options row[10];
    static const char *const why[10] = {
        NULL,
        "log_path: missing (expected the directory that holds the sessions)",
        "backend_url: missing (give it, or set GPUFL_BACKEND_URL)",
        "api_key: missing (give it, or set GPUFL_API_KEY)",
        "session_id: 's': conflicts with all_sessions (set only one)",
        "total_timeout_ms: 0: too small (expected 1 or more)",
        "connect_timeout_ms: -5: too small (expected 1 or more)",
        "read_timeout_ms: 0: too small (expected 1 or more)",
        "max_retries: -1: too small (expected 0 or more)",
        "DIR: missing (expected the directory that holds the sessions)",
    };
    for (size_t i = 0; i < 10; i++) {
        row[i] = good();
    }
    row[0].max_retries = 0;
    row[1].log_path = "";
    row[2].backend_url = "";
    row[3].api_key = "";
    row[4].session_id = "s";
    row[4].all_sessions = true;
    row[5].total_timeout_ms = 0;
    row[6].connect_timeout_ms = -5;
    row[7].read_timeout_ms = 0;
    row[8].max_retries = -1;
    row[9].log_path = "";
    for (size_t i = 0; i < 10; i++) {
        char text[512] = "";
        gpufl_status status =
            upload_options_check(&row[i], i == 9 ? as_flag : NULL, text);
        assert_int_equal(status, why[i] ? GPUFL_ERR_USAGE : GPUFL_OK);
        assert_string_equal(text, why[i] ? why[i] : "");
    }
}

static void code_beats_environment_beats_default(void **state)
{
    (void)state;
    struct gpufl_upload_options given = GPUFL_UPLOAD_OPTIONS_DEFAULT;
    struct gpufl_upload_options out;
    setenv("GPUFL_BACKEND_URL", "http://env", 1);
    setenv("GPUFL_API_KEY", "env-key", 1);
    unsetenv("GPUFL_API_PATH");
    given.api_key = "code-key";
    given.session_id = NULL;
    upload_options_resolve(&given, &out);
    assert_string_equal(out.backend_url, "http://env");
    assert_string_equal(out.api_key, "code-key");
    assert_string_equal(out.api_path, "");
    assert_string_equal(out.session_id, "");
    upload_options_resolve(NULL, &out);
    assert_string_equal(out.api_key, "env-key");
    assert_int_equal(out.total_timeout_ms, 300000);
}

/* gpufl_upload_options_default() fills the struct of the library, in memory of a program
 * that may have been compiled with an older header: a larger one needs another soname. */
static void the_options_have_the_size_that_belongs_to_the_soname(void **state)
{
    (void)state;
    if (sizeof(void *) == 8) {
        assert_int_equal(sizeof(struct gpufl_upload_options), 160);
    }
}

static void a_shorter_struct_takes_defaults_for_what_it_lacks(void **state)
{
    (void)state;
    struct gpufl_upload_options given = good();
    struct gpufl_upload_options out;
    given.struct_size = offsetof(struct gpufl_upload_options, max_retries);
    given.max_retries = 77;
    upload_options_resolve(&given, &out);
    assert_string_equal(out.log_path, "logs");
    assert_int_equal(out.max_retries, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(code_beats_environment_beats_default),
        cmocka_unit_test(the_options_have_the_size_that_belongs_to_the_soname),
        cmocka_unit_test(a_shorter_struct_takes_defaults_for_what_it_lacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
