/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the Prometheus text format. */
#include "tests/support/check.h"

#include <string.h>

#include "agent/metrics_format.h"
#include "agent/metrics_sent.h"

static void assert_written(struct text *out, const char *want)
{
    text_append(out, "", 1);
    assert_string_equal(out->data, want);
    text_fini(out);
}

static void a_metric_has_help_type_and_value(void **state)
{
    (void)state;
    struct text out = {0};
    metrics_counter(&out, "x_total", UINT64_MAX, "Times.");
    metrics_gauge(&out, "y", 0.25, "Share.");
    metrics_gauge(&out, "z", 1786200000.5, "Time.");
    assert_written(&out, "# HELP gpufl_agent_x_total Times.\n"
                         "# TYPE gpufl_agent_x_total counter\n"
                         "gpufl_agent_x_total 18446744073709551615\n"
                         "# HELP gpufl_agent_y Share.\n"
                         "# TYPE gpufl_agent_y gauge\n"
                         "gpufl_agent_y 0.25\n"
                         "# HELP gpufl_agent_z Time.\n"
                         "# TYPE gpufl_agent_z gauge\n"
                         "gpufl_agent_z 1786200000.5\n");
}

static void statuses_and_channels_become_labels(void **state)
{
    (void)state;
    struct text out = {0};
    struct counters counters = {0};
    struct engine_summary summary = {.sent_bytes = 7};
    counters.channels = 1;
    memcpy(counters.channel[0].name, "device", 7);
    counters.channel[0].lines = 3;
    counters.answers.used = 3;
    counters.answers.at[0].status = 0;
    counters.answers.at[1].status = 200;
    counters.answers.at[1].count = 5;
    counters.answers.at[2].status = COUNTERS_OTHER_STATUS;
    counters.quarantined.used = 2;
    counters.quarantined.at[0].status = 0;
    counters.quarantined.at[1].status = 413;
    metrics_sent_write(&out, &summary, &counters);
    text_append(&out, "", 1);
    static const char *const line[] = {
        "gpufl_agent_lines_sent_total{channel=\"device\"} 3\n",
        "gpufl_agent_sent_bytes_total 7\n",
        "gpufl_agent_requests_total{code=\"none\"} 0\n",
        "gpufl_agent_requests_total{code=\"200\"} 5\n",
        "gpufl_agent_requests_total{code=\"other\"} 0\n",
        "gpufl_agent_retries_total{reason=\"tls\"} 0\n",
        "gpufl_agent_quarantined_total{reason=\"local\"} 0\n",
        "gpufl_agent_quarantined_total{reason=\"http_413\"} 0\n",
    };
    for (size_t i = 0; i < sizeof line / sizeof line[0]; i++) {
        assert_non_null(strstr(out.data, line[i]));
    }
    text_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_metric_has_help_type_and_value),
        cmocka_unit_test(statuses_and_channels_become_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
