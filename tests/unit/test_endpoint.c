/* SPDX-License-Identifier: Apache-2.0 */
/* Where requests go, and which urls are refused. */
#include "tests/support/check.h"

#include <string.h>

#include "upload/endpoint.h"

static void urls_and_paths_join_to_one_prefix(void **state)
{
    (void)state;
    static const char *const row[][3] = {
        {"http://127.0.0.1:8765", "", "http://127.0.0.1:8765/api/v1"},
        {"https://api.gpuflight.com/", NULL, "https://api.gpuflight.com/api/v1"},
        {"example.com", "/", "http://example.com/api/v1"},
        {"HTTPS://h", "foo/bar/", "https://h/foo/bar"},
        {"http://[::1]:80//", "/obs/gpu/api/v1/", "http://[::1]:80/obs/gpu/api/v1"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char out[512];
        char why[256];
        assert_int_equal(endpoint_prefix(row[i][0], row[i][1], out, why), GPUFL_OK);
        assert_string_equal(out, row[i][2]);
    }
}

static void bad_urls_are_refused_with_a_sentence(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "http://",
        "ftp://host",
        "http://host/api/v1",
        "http://host?x",
        "http://u:p@host",
        "http://ho st",
        "http://host\r\nX: y",
        "file:///etc/passwd",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char out[512];
        char why[256] = "";
        assert_int_equal(endpoint_prefix(bad[i], "", out, why), GPUFL_ERR_USAGE);
        assert_true(strlen(why) > 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_and_paths_join_to_one_prefix),
        cmocka_unit_test(bad_urls_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
