/* SPDX-License-Identifier: Apache-2.0 */
/* The port that a URL means. */
#include "tests/support/check.h"

#include "agent/confine_ports.h"

static void the_port_is_that_of_the_url_or_its_scheme(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        uint16_t want;
    } row[] = {
        {"http://host", 80},
        {"https://host", 443},
        {"HTTPS://host", 443},
        {"http://host:8765", 8765},
        {"https://host:8765/a:b", 8765},
        {"host:99", 99},
        {"host", 80},
        {"http://[::1]", 80},
        {"http://[::1]:7", 7},
        {"http://user:pw@host:7/", 7},
        {"http://host:0", 80},
        {"http://host:65536", 80},
        {"http://host:x", 80},
        {"", 80},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        assert_int_equal(confine_port_of(row[i].url, 80), row[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_port_is_that_of_the_url_or_its_scheme),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
