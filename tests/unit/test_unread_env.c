/* SPDX-License-Identifier: Apache-2.0 */
/* Variables that no option of the agent reads. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>

#include "agent/options/option_find.h"
#include "agent/options/unread_env.h"
#include "base/text.h"

static void gather(void *arg, enum log_level level, const char *line)
{
    assert_int_equal(level, LOG_AT_WARN);
    text_puts(arg, line);
    text_puts(arg, "\n");
}

static void assert_warned(const char *variable, const char *want)
{
    struct text said = {0};
    struct log log = {.level = LOG_AT_INFO, .write = gather, .arg = &said};
    char *const environment[] = {"PATH=/bin", (char *)variable, NULL};
    unread_env_warn(&log, environment);
    text_append(&said, "", 1);
    assert_string_equal(said.data, want);
    text_fini(&said);
}

static void unknown_ones_are_named_with_the_nearest(void **state)
{
    (void)state;
    assert_warned("GPUFL_AGENT_LOGLEVEL=debug",
                  "warn environment.unknown name=GPUFL_AGENT_LOGLEVEL note=\"no option "
                  "reads it; did you mean GPUFL_AGENT_LOG_LEVEL?\"\n");
    assert_warned(
        "GPUFL_AGENT_TOKEN=x",
        "warn environment.unknown name=GPUFL_AGENT_TOKEN note=\"no option reads "
        "it; did you mean GPUFL_HTTP_TOKEN?\"\n");
    assert_warned("GPUFL_AGENT_FROBNICATE=x",
                  "warn environment.unknown name=GPUFL_AGENT_FROBNICATE note=\"no option "
                  "reads it\"\n");
}

static void those_that_are_near_one_that_begins_so_are_named(void **state)
{
    (void)state;
    static const char *const slip[][2] = {
        {"GPUFL_LOG_TYPE", "GPUFL_LOG_TYPES"},
        {"GPUFL_CURSOR_FLE", "GPUFL_CURSOR_FILE"},
        {"GPUFL_API_PTH", "GPUFL_API_PATH"},
        {"GPUFL_PUBLISHER_TYP", "GPUFL_PUBLISHER_TYPE"}};
    for (size_t i = 0; i < sizeof slip / sizeof slip[0]; i++) {
        char variable[64];
        char want[200];
        snprintf(variable, sizeof variable, "%s=x", slip[i][0]);
        snprintf(
            want, sizeof want,
            "warn environment.unknown name=%s note=\"no option reads it; did you mean "
            "%s?\"\n",
            slip[i][0], slip[i][1]);
        assert_warned(variable, want);
    }
}

static void those_of_others_are_left_alone(void **state)
{
    (void)state;
    static const char *const variable[] = {
        "GPUFL_AGENT_LISTEN=127.0.0.1:1",
        "GPUFL_AGENT_UPLOAD_MODE=stream",
        "GPUFL_AGENT_PRUNE_FAILED=false",
        "GPUFL_AGENT_JAR=/x.jar",
        "GPUFL_SOURCE_PREFIX=x",
        "GPUFL_LOG_PATH=x",
        "GPUFL_LOG_DIR=x",
        "GPUFL_LOG_ROTATE_BYTES=1",
        "GPUFL_API_KEY=x",
        "GPUFL_API_URL=x",
        /* Kubernetes makes these for services gpufl-agent and gpufl-agent-metrics. */
        "GPUFL_AGENT_SERVICE_HOST=10.0.0.1",
        "GPUFL_AGENT_SERVICE_PORT=9464",
        "GPUFL_AGENT_SERVICE_PORT_METRICS=9464",
        "GPUFL_AGENT_PORT=tcp://10.0.0.1:9464",
        "GPUFL_AGENT_PORT_9464_TCP=tcp://10.0.0.1:9464",
        "GPUFL_AGENT_PORT_9464_TCP_ADDR=10.0.0.1",
        "GPUFL_AGENT_METRICS_SERVICE_HOST=10.0.0.1",
        "GPUFL_AGENT_METRICS_PORT=tcp://10.0.0.1:9464",
    };
    for (size_t i = 0; i < sizeof variable / sizeof variable[0]; i++) {
        assert_warned(variable[i], "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_ones_are_named_with_the_nearest),
        cmocka_unit_test(those_that_are_near_one_that_begins_so_are_named),
        cmocka_unit_test(those_of_others_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
