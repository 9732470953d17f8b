/* SPDX-License-Identifier: Apache-2.0 */
/* What the backend keeps of each record. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/digest/digest_line.h"
#include "backend/digest/metric_columns.h"
#include "schema/records.h"

#define TAKE(digest, type, text)                                                         \
    assert_true(digest_line(digest, type, text, strlen(text)))

static void metrics_are_packed_by_device(void **state)
{
    (void)state;
    struct digest d = {0};
    int64_t value[2];
    TAKE(&d, "device_metric_batch",
         "{\"base_time_ns\":1000,\"columns\":[\"dt_ns\",\"device_id\",\"power_mw\",\"gpu_"
         "util\","
         "\"new\"],\"rows\":[[0,0,500,10,1],[0,1,600,20,1],[100,0,501,11,1],[100,1,601,"
         "21,1]]}");
    assert_int_equal(d.tables, 2);
    assert_true(d.newest_ns == 1100);
    for (unsigned i = 0; i < 2; i++) {
        const struct digest_table *t = &d.table[i];
        assert_true(t->device == i && t->rows == 2 && t->first_ns == 1000 &&
                    t->last_ns == 1100);
        assert_true(t->metrics == (UINT64_C(1) << metric_column_of("gpu_util") |
                                   UINT64_C(1) << metric_column_of("power_mw")));
        assert_true(pack_read_column(&t->packed, 2, 1, value));
        assert_true(value[0] == 10 + 10 * i && value[1] == 11 + 10 * i);
        assert_true(pack_read_column(&t->packed, 2, 2, value));
        assert_true(value[0] == 500 + 100 * i && value[1] == 501 + 100 * i);
    }
    digest_fini(&d);
}

static void a_hostile_batch_costs_little(void **state)
{
    (void)state;
    struct digest d = {0};
    char *line = malloc(4u << 20);
    char *at =
        line + snprintf(line, 4u << 20, "{\"columns\":[\"device_id\"],\"rows\":[[0]");
    for (int i = 1; i < 200000; i++) {
        at += snprintf(at, 16, ",[%d]", i);
    }
    memcpy(at, "]}", 3);
    TAKE(&d, "device_metric_batch", line); /* as many devices as rows */
    assert_in_range(d.tables, 1, 64);
    TAKE(&d, "host_metric_batch",
         "{\"base_time_ns\":9223372036854775807,\"columns\":[\"dt_ns\",\"cpu_pct_x100\"],"
         "\"rows\":[[9223372036854775807,1],[-9223372036854775808,2]]}");
    TAKE(&d, "memset_event", "{\"start_ns\":-9223372036854775808,\"end_ns\":1}");
    TAKE(&d, "memset_event", "[]");
    TAKE(&d, "dictionary_update", "{\"kernel_dict\":{\"1\":7,\"x\":\"y\",\"2\":\"\"}}");
    TAKE(&d, "dictionary_update", "{\"kernel_dict\":[]}");
    TAKE(&d, "kernel_event_batch", "{");
    free(line);
    digest_fini(&d);
}

static void each_record_adds_what_is_shown_of_it(void **state)
{
    (void)state;
    static const struct {
        const char *type, *line;
        size_t tallies, names, tables;
    } row[] = {
        {RECORD_KERNELS, "{\"columns\":[\"kernel_id\"],\"rows\":[[1],[2],[1]]}", 2, 0, 0},
        {RECORD_KERNELS,
         "{\"columns\":[\"kernel_id\",\"detail_corr_id\"],\"rows\":[[1,8]]}", 2, 0, 0},
        {RECORD_COPIES, "{\"columns\":[\"copy_kind\",\"bytes\"],\"rows\":[[1,5],[2,5]]}",
         2, 0, 0},
        {RECORD_SETS, "{\"columns\":[\"bytes\"],\"rows\":[[5],[6]]}", 1, 0, 0},
        {RECORD_SETS,
         "{\"columns\":[\"bytes\",\"a name of more than thirty-two bytes\"],"
         "\"rows\":[[5,1],[6,2]]}",
         1, 0, 0},
        {RECORD_WAITS, "{\"columns\":[\"sync_type\"],\"rows\":[[3]]}", 1, 0, 0},
        {RECORD_ALLOCATIONS,
         "{\"columns\":[\"memory_op\",\"memory_kind\"],\"rows\":[[1,2],[1,3]]}", 2, 0, 0},
        {RECORD_SAMPLES,
         "{\"columns\":[\"function_id\",\"metric_value\"],\"rows\":[[1,4]]}", 1, 0, 0},
        {RECORD_SAMPLES,
         "{\"columns\":[\"source_file_id\",\"source_line\"],\"rows\":[[1,4],[1,0]]}", 2,
         0, 0},
        {RECORD_SAMPLES, "{\"columns\":[\"sample_kind\"],\"rows\":[[1]]}", 0, 0, 0},
        {RECORD_SCOPES, "{\"columns\":[\"dt_ns\"],\"rows\":[[1]]}", 0, 0, 1},
        {RECORD_SCOPES, "{\"columns\":[\"dt_ns\"],\"rows\":[]}", 0, 0, 0},
        {RECORD_HOST_METRICS, "{\"columns\":[\"dt_ns\"],\"rows\":[[1],[2]]}", 0, 0, 1},
        {RECORD_DEVICE_METRICS, "{\"columns\":[\"device_id\"],\"rows\":[[1],[2],[1]]}", 0,
         0, 2},
        {RECORD_DICTIONARY,
         "{\"kernel_dict\":{\"1\":\"a\"},\"metric_dict\":{\"1\":\"b\"},\"other\":{\"1\":"
         "\"c\"}}",
         0, 2, 0},
        {RECORD_SOURCE, "{\"source_file_id\":1,\"lines\":[\"a\"]}", 0, 1, 0},
        {RECORD_KERNEL_DETAIL,
         "{\"corr_id\":1,\"user_scope\":\"a\",\"stack_trace\":\"b\",\"per_launch\":"
         "false}",
         0, 2, 0},
        {RECORD_KERNEL_DETAIL, "{\"corr_id\":1,\"user_scope\":\"a\",\"per_launch\":true}",
         0, 0, 0},
        {RECORD_KERNEL_DETAIL, "{\"corr_id\":1,\"user_scope\":\"a\"}", 0, 0, 0},
        {RECORD_MEMSET, "{\"start_ns\":1,\"end_ns\":2}", 1, 0, 0},
        {RECORD_SASS_CONFIG, "{\"columns\":[\"kernel_id\"],\"rows\":[[1]]}", 0, 0, 0},
        {"unknown", "{}", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct digest d = {0};
        TAKE(&d, row[i].type, row[i].line);
        assert_int_equal(d.tallies.used, row[i].tallies);
        assert_int_equal(d.names, row[i].names);
        assert_int_equal(d.tables, row[i].tables);
        digest_fini(&d);
    }
}

static void each_metric_has_a_number_of_its_own(void **state)
{
    (void)state;
    assert_in_range(metrics_count, 1, 64); /* bits of digest_table.metrics */
    for (unsigned i = 0; i < metrics_count; i++) {
        assert_int_equal(metric_column_of(metrics[i].name), i);
        assert_true(metrics[i].scale > 0 && *metrics[i].unit);
    }
    /* Stored in databases: these never move. */
    assert_int_equal(metric_column_of("gpu_util"), 0);
    assert_int_equal(metric_column_of("cpu_pct_x100"), 16);
    assert_int_equal(metric_column_of("xid_count"), 28);
    assert_int_equal(metric_column_of("dt_ns"), -1);
    assert_int_equal(metric_column_of(""), -1);
}

static void a_launchers_shutdown_of_a_killed_process_is_none(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int64_t shutdown_ns;
    } row[] = {
        {"{\"ts_ns\":7}", 7},
        {"{}", 1},
        {"{\"ts_ns\":-7}", 1},
        {"{\"ts_ns\":7,\"synthetic\":true,\"exit_code\":0}", 7},
        {"{\"ts_ns\":7,\"synthetic\":true,\"signaled\":true,\"signal\":9}", 0},
        {"{\"ts_ns\":7,\"synthetic\":true,\"crashed\":true}", 0},
        {"{\"ts_ns\":7,\"synthetic\":true,\"signaled\":false,\"crashed\":false}", 7},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct digest d = {0};
        TAKE(&d, "shutdown", row[i].line);
        assert_true(d.session.shutdown_ns == row[i].shutdown_ns);
        digest_fini(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_are_packed_by_device),
        cmocka_unit_test(a_hostile_batch_costs_little),
        cmocka_unit_test(a_launchers_shutdown_of_a_killed_process_is_none),
        cmocka_unit_test(each_record_adds_what_is_shown_of_it),
        cmocka_unit_test(each_metric_has_a_number_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
