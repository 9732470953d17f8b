/* SPDX-License-Identifier: Apache-2.0 */
/* What a transport refuses to start with, and what it keeps. */
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>

#include "upload/http/credentials.h"

#define NO_FILE "/no/such/file.pem"
#define GIVE    " (give a PEM file that can be read)"

static void settings_that_cannot_work_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        struct transport_http_config config;
        const char *why;
    } row[] = {
        {{.backend_url = "http://127.0.0.1:1", .token = "a\nb"},
         "api_key: contains a control character"},
        {{.backend_url = "", .token = "k"}, "backend_url: ''"},
        {{.backend_url = "http://8.8.8.8", .token = "k"},
         "backend_url: 'http://8.8.8.8': the API key would travel unencrypted over a "
         "public network (use https:// or allow_insecure_http)"},
        {{.backend_url = "https://h", .ca_file = NO_FILE},
         "ca_file: \'" NO_FILE "\': No such file or directory" GIVE},
        {{.backend_url = "https://h", .client_cert = NO_FILE},
         "client_cert: \'" NO_FILE "\': No such file or directory" GIVE},
        {{.backend_url = "https://h", .client_key = NO_FILE},
         "client_key: \'" NO_FILE "\': No such file or directory" GIVE},
    };
    unsetenv("SSL_CERT_FILE");
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct credentials credentials;
        char why[256] = "";
        assert_int_equal(credentials_init(&credentials, &row[i].config, why),
                         GPUFL_ERR_USAGE);
        if (strncmp(why, row[i].why, strlen(row[i].why)) != 0) {
            fail_msg("got: %s", why);
        }
        credentials_fini(&credentials);
    }
}

static void the_environments_certificates_are_named_as_such(void **state)
{
    (void)state;
    struct transport_http_config config = {.backend_url = "https://h"};
    struct credentials credentials;
    char why[256] = "";
    setenv("SSL_CERT_FILE", NO_FILE, 1);
    assert_int_equal(credentials_init(&credentials, &config, why), GPUFL_ERR_USAGE);
    assert_string_equal(why,
                        "SSL_CERT_FILE: '" NO_FILE "': No such file or directory" GIVE);
    credentials_fini(&credentials);
    unsetenv("SSL_CERT_FILE");
}

static void an_insecure_address_takes_a_key_only_when_allowed(void **state)
{
    (void)state;
    static const struct {
        const char *url, *token;
        bool allow;
        gpufl_status status;
    } row[] = {
        {"http://8.8.8.8", "k", true, GPUFL_OK},
        {"http://8.8.8.8", "", false, GPUFL_OK},
        {"http://8.8.8.8", NULL, false, GPUFL_OK},
        {"http://8.8.8.8", "k", false, GPUFL_ERR_USAGE},
        {"http://10.0.0.1", "k", false, GPUFL_OK},
        {"https://8.8.8.8", "k", false, GPUFL_OK},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct transport_http_config config = {.backend_url = row[i].url,
                                               .token = row[i].token,
                                               .allow_insecure_http = row[i].allow};
        struct credentials credentials;
        char why[256];
        assert_int_equal(credentials_init(&credentials, &config, why), row[i].status);
        credentials_fini(&credentials);
    }
}

static void plain_http_uses_no_proxy_that_nobody_named(void **state)
{
    (void)state;
    static const struct {
        const char *url, *proxy, *kept;
    } row[] = {
        {"http://127.0.0.1", NULL, ""},
        {"http://127.0.0.1", "", ""},
        {"http://127.0.0.1", "none", ""},
        {"http://127.0.0.1", "http://p:1", "http://p:1"},
        {"https://h", NULL, NULL},
        {"https://h", "", NULL},
        {"https://h", "none", ""},
        {"https://h", "http://p:1", "http://p:1"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct transport_http_config config = {.backend_url = row[i].url,
                                               .proxy = row[i].proxy};
        struct credentials credentials;
        char why[256];
        assert_int_equal(credentials_init(&credentials, &config, why), GPUFL_OK);
        if (row[i].kept) {
            assert_string_equal(credentials.proxy, row[i].kept);
        } else {
            assert_null(credentials.proxy);
        }
        credentials_fini(&credentials);
    }
}

static void a_token_is_replaced_and_a_bad_one_leaves_none(void **state)
{
    (void)state;
    struct transport_http_config config = {.backend_url = "http://127.0.0.1",
                                           .token = "first"};
    struct credentials credentials;
    char why[256];
    assert_int_equal(credentials_init(&credentials, &config, why), GPUFL_OK);
    credentials_set_token(&credentials, "second");
    assert_string_equal(credentials.token, "second");
    credentials_set_token(&credentials, "bad\r\nX: y");
    assert_null(credentials.token);
    credentials_set_token(&credentials, "");
    assert_null(credentials.token);
    credentials_fini(&credentials);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_that_cannot_work_are_refused_by_name),
        cmocka_unit_test(the_environments_certificates_are_named_as_such),
        cmocka_unit_test(an_insecure_address_takes_a_key_only_when_allowed),
        cmocka_unit_test(plain_http_uses_no_proxy_that_nobody_named),
        cmocka_unit_test(a_token_is_replaced_and_a_bad_one_leaves_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
