/* SPDX-License-Identifier: Apache-2.0 */
/* Where requests go, and which urls are refused. */
#include "tests/support/check.h"

#include <string.h>

#include "upload/http/endpoint.h"
#include "upload/http/exposure.h"

static void urls_and_paths_join_to_one_prefix(void **state)
{
    (void)state;
    static const char *const row[][3] = {
        {"http://127.0.0.1:8765", "", "http://127.0.0.1:8765/api/v1"},
        {"https://api.gpuflight.com/", NULL, "https://api.gpuflight.com/api/v1"},
        {"example.com", "/", "http://example.com/api/v1"},
        {"HTTPS://h", "foo/bar/", "https://h/foo/bar"},
        {"http://my_host.svc.:65535", "", "http://my_host.svc.:65535/api/v1"},
        {"http://127.1", "", "http://127.1/api/v1"},
        {"http://[fe80::1%25eth0]:8", "", "http://[fe80::1%25eth0]:8/api/v1"},
        {"http://h", "/a/v1.2/..b/.../c%2fd//", "http://h/a/v1.2/..b/.../c%2fd"},
        {"http://[::1]:80//", "/obs/gpu/api/v1/", "http://[::1]:80/obs/gpu/api/v1"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char out[512];
        char why[256];
        struct transport_http_config config = {.backend_url = row[i][0],
                                               .api_path = row[i][1]};
        assert_int_equal(endpoint_prefix(&config, out, why), GPUFL_OK);
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
        "http://host:",
        "http://host:0",
        "http://host:65536",
        "http://host:80x",
        "http://host:-1",
        "http://:80",
        "http://a:b:80",
        "http://::1",
        "http://[::1",
        "http://[::1]80",
        "http://[::g]:80",
        "http://[]:80",
        "http://256.1.1.1",
        "http://a..b",
        "http://.a",
        "http://a_$b",
        "http://<host>:80",
        "https://host:443:443",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char out[512];
        char why[256] = "";
        struct transport_http_config config = {.backend_url = bad[i], .api_path = ""};
        assert_int_equal(endpoint_prefix(&config, out, why), GPUFL_ERR_USAGE);
        assert_true(strlen(why) > 20);
        assert_ptr_equal(strstr(why, "backend_url: "), why);
        assert_null(strstr(why, "u:p"));
    }
}

static const char *as_flag(const char *field)
{
    return strcmp(field, "backend_url") == 0 ? "--host" : "--path";
}

static void an_error_names_the_option_as_the_user_knows_it(void **state)
{
    (void)state;
    static const struct {
        const char *url, *path, *why;
    } row[] = {
        {"ftp://h", "",
         "--host: 'ftp://h': not an http or https address (expected "
         "scheme://host[:port])"},
        {"http://h/x", "", "--host: 'http://h/x': contains a path (give it as --path)"},
        {"http://h?x", "",
         "--host: 'http://h?x': contains '?' or '#' (expected scheme://host[:port])"},
        {"http://h", "/a?b",
         "--path: '/a?b': contains a blank, a quote, '?' or '#' (expected a path such as "
         "/api/v1)"},
        {"http://h", "/a/../b",
         "--path: '/a/../b': has a part '.' or '..' (expected a path such as /api/v1)"},
        {"http://h", ".",
         "--path: '.': has a part '.' or '..' (expected a path such as /api/v1)"},
        {"http://h", "/a/.%2E/",
         "--path: '/a/.%2E/': has a part '.' or '..' (expected a path such as /api/v1)"},
        {"http://h", "http://x/y",
         "--path: 'http://x/y': has an empty part (expected a path such as /api/v1)"},
        {"http://h", "//x",
         "--path: '//x': has an empty part (expected a path such as /api/v1)"},
        {"http://h", "/a%2g",
         "--path: '/a%2g': contains '%' without two hexadecimal digits (expected a path "
         "such as /api/v1)"},
        {"http://h/a/../b", "",
         "--host: 'http://h/a/../b': its path has a part '.' or '..' (expected "
         "scheme://host[:port])"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char out[512];
        char why[256] = "";
        struct transport_http_config config = {
            .backend_url = row[i].url, .api_path = row[i].path, .option_name = as_flag};
        assert_int_equal(endpoint_prefix(&config, out, why), GPUFL_ERR_USAGE);
        assert_string_equal(why, row[i].why);
    }
}

static void who_could_read_along_is_told_by_the_address(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        enum exposure want;
    } row[] = {
        {"https://example.com", EXPOSURE_ENCRYPTED},
        {"http://127.0.0.1:8765", EXPOSURE_LOOPBACK},
        {"http://127.255.0.9", EXPOSURE_LOOPBACK},
        {"http://localhost:1", EXPOSURE_LOOPBACK},
        {"http://LOCALHOST.", EXPOSURE_LOOPBACK},
        {"http://a.localhost", EXPOSURE_LOOPBACK},
        {"http://[::1]:80", EXPOSURE_LOOPBACK},
        {"http://[::ffff:127.0.0.1]", EXPOSURE_LOOPBACK},
        {"http://10.1.2.3", EXPOSURE_PRIVATE},
        {"http://172.16.0.1", EXPOSURE_PRIVATE},
        {"http://172.31.255.255", EXPOSURE_PRIVATE},
        {"http://192.168.7.7:80", EXPOSURE_PRIVATE},
        {"http://169.254.169.254", EXPOSURE_PRIVATE},
        {"http://100.64.0.1", EXPOSURE_PRIVATE},
        {"http://[fd00::1]", EXPOSURE_PRIVATE},
        {"http://[fe80::1%eth0]", EXPOSURE_PRIVATE},
        {"http://backend:8080", EXPOSURE_PRIVATE},
        {"http://gpufl.monitoring.svc", EXPOSURE_PRIVATE},
        {"http://gpufl.monitoring.svc.cluster.local:80", EXPOSURE_PRIVATE},
        {"http://node7.lan", EXPOSURE_PRIVATE},
        {"example.com", EXPOSURE_PUBLIC},
        {"http://172.32.0.1", EXPOSURE_PUBLIC},
        {"http://11.0.0.1", EXPOSURE_PUBLIC},
        {"http://8.8.8.8", EXPOSURE_PUBLIC},
        {"http://[2001:db8::1]", EXPOSURE_PUBLIC},
        {"http://[::ffff:8.8.8.8]", EXPOSURE_PUBLIC},
        {"http://2130706433", EXPOSURE_PUBLIC},
        {"http://0x7f000001", EXPOSURE_PUBLIC},
        {"http://127.1", EXPOSURE_PUBLIC},
        {"http://127.0.0.1.example.com", EXPOSURE_PUBLIC},
        {"http://10.0.0.1.evil.org", EXPOSURE_PUBLIC},
        {"http://evil-svc", EXPOSURE_PRIVATE},
        {"http://svc.example.com", EXPOSURE_PUBLIC},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char prefix[512];
        char why[256];
        struct transport_http_config config = {.backend_url = row[i].url};
        assert_int_equal(endpoint_prefix(&config, prefix, why), GPUFL_OK);
        if (exposure_of(prefix) != row[i].want) {
            fail_msg("%s: %d", row[i].url, (int)exposure_of(prefix));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_and_paths_join_to_one_prefix),
        cmocka_unit_test(bad_urls_are_refused_with_a_sentence),
        cmocka_unit_test(an_error_names_the_option_as_the_user_knows_it),
        cmocka_unit_test(who_could_read_along_is_told_by_the_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
