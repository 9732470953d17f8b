/* SPDX-License-Identifier: Apache-2.0 */
/* What `gpufl-agent healthcheck` is told, and what it makes of an answer. */
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>

#include "agent/healthcheck.h"

static void arguments_are_read_over_the_environment(void **state)
{
    (void)state;
    static const struct {
        const char *env, *arg, *value, *listen, *name, *path;
    } row[] = {
        {NULL, NULL, NULL, HEALTHCHECK_ADDRESS, "--listen", "/healthz"},
        {"", NULL, NULL, HEALTHCHECK_ADDRESS, "--listen", "/healthz"},
        {"127.0.0.1:1", NULL, NULL, "127.0.0.1:1", "GPUFL_AGENT_LISTEN", "/healthz"},
        {"127.0.0.1:1", "--listen=127.0.0.1:2", NULL, "127.0.0.1:2", "--listen",
         "/healthz"},
        {"127.0.0.1:1", "--listen", "127.0.0.1:2", "127.0.0.1:2", "--listen", "/healthz"},
        {NULL, "--ready", NULL, HEALTHCHECK_ADDRESS, "--listen", "/readyz"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct healthcheck_request request;
        char why[512];
        char *argv[] = {"healthcheck", (char *)row[i].arg, (char *)row[i].value, NULL};
        unsetenv("GPUFL_AGENT_LISTEN");
        if (row[i].env) {
            setenv("GPUFL_AGENT_LISTEN", row[i].env, 1);
        }
        assert_true(
            healthcheck_parse(1 + !!row[i].arg + !!row[i].value, argv, &request, why));
        assert_string_equal(request.listen, row[i].listen);
        assert_string_equal(request.listen_name, row[i].name);
        assert_string_equal(request.path, row[i].path);
        assert_false(request.help || request.version);
    }
    unsetenv("GPUFL_AGENT_LISTEN");
}

static void help_and_version_have_a_short_form(void **state)
{
    (void)state;
    static const struct {
        char *arg;
        bool help, version;
    } row[] = {{"-h", true, false},
               {"--help", true, false},
               {"-V", false, true},
               {"--version", false, true}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct healthcheck_request request;
        char why[512];
        char *argv[] = {"healthcheck", row[i].arg, NULL};
        assert_true(healthcheck_parse(2, argv, &request, why));
        assert_int_equal(request.help, row[i].help);
        assert_int_equal(request.version, row[i].version);
    }
}

static void an_unknown_argument_is_refused(void **state)
{
    (void)state;
    static const struct {
        char *arg;
        const char *why;
    } row[] = {
        {"--redy", "--redy: unknown option (did you mean --ready?)"},
        {"--lsiten=1", "--lsiten: unknown option (did you mean --listen?)"},
        {"--listen", "--listen: missing value (expected ADDRESS:PORT)"},
        {"--listen=", "--listen: empty (give ADDRESS:PORT, or leave it out)"},
        {"--help=x", "--help: unexpected value 'x' (it takes none)"},
        {"--ready=1", "--ready: unexpected value '1' (it takes none)"},
        {"now", "'now': unexpected argument (see gpufl-agent healthcheck --help)"},
        {"--what", "--what: unknown option (see gpufl-agent healthcheck --help)"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct healthcheck_request request;
        char why[512];
        char *argv[] = {"healthcheck", row[i].arg, NULL};
        assert_false(healthcheck_parse(2, argv, &request, why));
        assert_string_equal(why, row[i].why);
    }
}

static void replies_are_taken_apart(void **state)
{
    (void)state;
    static const struct {
        const char *reply;
        int status;
        const char *body;
    } row[] = {
        {"HTTP/1.1 200 OK\r\nX: y\r\n\r\nok\n", 200, "ok"},
        {"HTTP/1.0 503 No\r\n\r\nthe key is refused\r\nmore", 503, "the key is refused"},
        {"HTTP/1.1 200 OK\r\n\r\n", 200, ""},
        {"HTTP/1.1 200 OK\r\nX: y\r\n", 0, NULL},
        {"SSH-2.0-OpenSSH\r\n\r\n", 0, NULL},
        {"", 0, NULL},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char body[64] = "";
        assert_int_equal(healthcheck_reply(row[i].reply, body, sizeof body),
                         row[i].status);
        assert_string_equal(body, row[i].body ? row[i].body : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_read_over_the_environment),
        cmocka_unit_test(help_and_version_have_a_short_form),
        cmocka_unit_test(an_unknown_argument_is_refused),
        cmocka_unit_test(replies_are_taken_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
