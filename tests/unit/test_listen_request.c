/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the agent's endpoint. */
#include "tests/support/check.h"

#include <string.h>

#include "agent/listen_request.h"

static void requests_are_routed_by_method_and_path(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum listen_route want;
    } row[] = {
        {"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", LISTEN_METRICS},
        {"GET /metrics HTTP/1.1\n\n", LISTEN_METRICS},
        {"GET /metrics?x=1 HTTP/1.1\r\n\r\n", LISTEN_METRICS},
        {"GET /healthz HTTP/1.0\r\n\r\n", LISTEN_HEALTHZ},
        {"GET /readyz\r\n\r\n", LISTEN_READYZ},
        {"GET / HTTP/1.1\r\n\r\n", LISTEN_NOT_FOUND},
        {"GET /metricsx HTTP/1.1\r\n\r\n", LISTEN_NOT_FOUND},
        {"GET /metric HTTP/1.1\r\n\r\n", LISTEN_NOT_FOUND},
        {"POST /metrics HTTP/1.1\r\n\r\n", LISTEN_NOT_GET},
        {"HEAD /metrics HTTP/1.1\r\n\r\n", LISTEN_NOT_GET},
        {"get /metrics HTTP/1.1\r\n\r\n", LISTEN_NOT_GET},
        {"", LISTEN_MORE},
        {"GET /metrics HTTP/1.1\r\n", LISTEN_MORE},
        {"GET /metrics HTTP/1.1\r\nHost: x\r\n", LISTEN_MORE},
        {"\r\n\r\n", LISTEN_BAD},
        {" /metrics\r\n\r\n", LISTEN_BAD},
        {"GET metrics HTTP/1.1\r\n\r\n", LISTEN_BAD},
        {"GET\r\nHost: /metrics\r\n\r\n", LISTEN_BAD},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        assert_int_equal(listen_request(row[i].text, strlen(row[i].text)), row[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_routed_by_method_and_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
