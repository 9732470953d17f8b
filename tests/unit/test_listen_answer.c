/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the agent's endpoint. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>

#include "agent/listen_answer.h"

static struct listen_figures figures;

static void assert_answer(enum listen_route route, const struct listen_state *state,
                          const char *status, const char *body)
{
    struct text out = {0};
    char head[64];
    char length[64];
    listen_answer(route, state, &out);
    text_append(&out, "", 1);
    assert_false(out.failed);
    snprintf(head, sizeof head, "HTTP/1.1 %s\r\n", status);
    snprintf(length, sizeof length, "\r\nContent-Length: %zu\r\n", strlen(body));
    assert_memory_equal(out.data, head, strlen(head));
    assert_non_null(strstr(out.data, length));
    const char *end = strstr(out.data, "\r\n\r\n");
    assert_non_null(end);
    assert_string_equal(end + 4, body);
    text_fini(&out);
}

static void each_state_has_its_answer(void **state)
{
    (void)state;
    static const struct {
        enum listen_route route;
        bool filled;
        uint64_t silent_ms;
        const char *not_ready, *status, *body;
    } row[] = {
        {LISTEN_METRICS, true, 0, "", "200 OK", "a 1\n"},
        {LISTEN_METRICS, true, 99999, "", "200 OK", "a 1\n"},
        {LISTEN_METRICS, false, 0, "", "503 Service Unavailable", "not started yet\n"},
        {LISTEN_HEALTHZ, false, 29999, "", "200 OK", "ok\n"},
        {LISTEN_HEALTHZ, true, 30000, "", "503 Service Unavailable",
         "the main loop has been stuck for 30 s\n"},
        {LISTEN_READYZ, true, 0, "", "200 OK", "ready\n"},
        {LISTEN_READYZ, true, 0, "the backend refuses the API key: 401",
         "503 Service Unavailable", "the backend refuses the API key: 401\n"},
        {LISTEN_READYZ, false, 0, "", "503 Service Unavailable", "not started yet\n"},
        {LISTEN_READYZ, true, 45000, "", "503 Service Unavailable",
         "the main loop has been stuck for 45 s\n"},
        {LISTEN_NOT_FOUND, true, 0, "", "404 Not Found",
         "try /metrics, /healthz or /readyz\n"},
        {LISTEN_NOT_GET, true, 0, "", "405 Method Not Allowed",
         "only GET is supported\n"},
        {LISTEN_BAD, true, 0, "", "400 Bad Request", "not a valid HTTP request\n"},
    };
    text_puts(&figures.metrics, "a 1\n");
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct listen_state now = {&figures, row[i].filled, row[i].silent_ms};
        snprintf(figures.not_ready, sizeof figures.not_ready, "%s", row[i].not_ready);
        assert_answer(row[i].route, &now, row[i].status, row[i].body);
    }
    text_fini(&figures.metrics);
}

/* Of one user, by whom nobody else is kept waiting. */
static void what_waits_for_room_is_told_while_the_agent_is_ready(void **state)
{
    (void)state;
    struct listen_figures some = {.waits = "3 directories wait"};
    struct listen_state now = {&some, true, 0};
    assert_answer(LISTEN_READYZ, &now, "200 OK", "ready\n3 directories wait\n");
    snprintf(some.not_ready, sizeof some.not_ready, "the workspace is full");
    assert_answer(LISTEN_READYZ, &now, "503 Service Unavailable",
                  "the workspace is full\n");
}

static void metrics_that_found_no_memory_are_an_error(void **state)
{
    (void)state;
    struct listen_figures none = {.metrics = {.failed = true}};
    struct listen_state now = {&none, true, 0};
    assert_answer(LISTEN_METRICS, &now, "503 Service Unavailable", "out of memory\n");
}

static void a_405_names_the_method_that_works(void **state)
{
    (void)state;
    struct text out = {0};
    struct listen_state now = {&figures, true, 0};
    listen_answer(LISTEN_NOT_GET, &now, &out);
    text_append(&out, "", 1);
    assert_non_null(strstr(out.data, "\r\nAllow: GET\r\n"));
    text_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_state_has_its_answer),
        cmocka_unit_test(what_waits_for_room_is_told_while_the_agent_is_ready),
        cmocka_unit_test(metrics_that_found_no_memory_are_an_error),
        cmocka_unit_test(a_405_names_the_method_that_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
