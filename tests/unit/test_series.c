/* SPDX-License-Identifier: Apache-2.0 */
/* What has a time axis is reduced slice by slice. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>

#include "backend/api/series_metric.h"
#include "backend/api/series_scopes.h"
#include "backend/digest/metric_columns.h"
#include "backend/store/store_ingest.h"

#define BATCH(type, columns, rows)                                                       \
    "{\"type\":\"" type                                                                  \
    "\",\"session_id\":\"s\",\"base_time_ns\":1000,\"columns\":[" columns                \
    "],\"rows\":[" rows "]}\n"

/* A store in memory whose only session, 1, has the lines of \p text. */
static struct store *store_of(const char *text)
{
    char why[256];
    struct store *store;
    struct lines lines;
    assert_int_equal(store_open(":memory:", &store, why), GPUFL_OK);
    assert_true(lines_read(text, strlen(text), "s", &lines));
    assert_int_equal(lines.rejected, 0);
    struct store_body body = {.session = "s",
                              .channel = "system",
                              .data = text,
                              .len = strlen(text),
                              .raw_len = strlen(text),
                              .lines = &lines,
                              .hostname = ""};
    assert_int_equal(store_add(store, &body), GPUFL_OK);
    lines_fini(&lines);
    return store;
}

static void an_axis_spans_the_session_unless_told(void **state)
{
    (void)state;
    struct store *store = store_of(
        BATCH("host_metric_batch", "\"dt_ns\",\"cpu_pct_x100\"", "[0,1],[100,2]"));
    static const struct {
        struct series_span span;
        struct series_axis axis;
    } row[] = {
        {{0, 0, 10}, {1000, 1100, 11}},
        {{0, 0, 1}, {1000, 1100, 101}},
        {{0, 0, 1000}, {1000, 1100, 1}},
        {{1050, 0, 5}, {1050, 1100, 11}},
        {{0, 1050, 5}, {1000, 1050, 11}},
        {{1090, 1010, 5}, {1090, 1090, 1}},
        {{1, INT64_MAX, 1}, {1, INT64_MAX, INT64_MAX}},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct series_axis axis;
        assert_int_equal(series_axis(store, 1, &row[i].span, &axis), GPUFL_OK);
        assert_true(axis.from_ns == row[i].axis.from_ns);
        assert_true(axis.to_ns == row[i].axis.to_ns);
        assert_true(axis.slice_ns == row[i].axis.slice_ns);
    }
    store_close(store);
}

/* What was visited, as text. */
struct seen {
    char text[512];
};

static void see_point(void *arg, const struct series_point *p)
{
    struct seen *seen = arg;
    size_t len = strlen(seen->text);
    snprintf(seen->text + len, sizeof seen->text - len, "%d@%d:%g-%g ", (int)p->device,
             (int)p->dt_ns, p->min, p->max);
}

static void a_slice_has_the_least_and_the_largest_value(void **state)
{
    (void)state;
    struct store *store = store_of(BATCH(
        "device_metric_batch", "\"dt_ns\",\"device_id\",\"power_mw\"",
        "[0,0,5000],[1,1,900],[4,0,3000],[9,0,-1],[10,0,7000],[39,0,null],[40,0,1000]"));
    static const struct {
        struct series_axis axis;
        const char *seen;
    } row[] = {
        {{1000, 1040, 10}, "0@0:3-5 0@10:7-7 0@40:1-1 1@1:0.9-0.9 "},
        {{1000, 1040, 100}, "0@0:1-7 1@1:0.9-0.9 "},
        {{1004, 1010, 1}, "0@0:3-3 0@6:7-7 "},
        {{2000, 3000, 10}, ""},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct seen seen = {""};
        assert_int_equal(series_metric(store, 1, metric_column_of("power_mw"),
                                       &row[i].axis, see_point, &seen),
                         GPUFL_OK);
        assert_string_equal(seen.text, row[i].seen);
    }
    store_close(store);
}

static void see_scope(void *arg, const struct series_scope *scope)
{
    struct seen *seen = arg;
    size_t len = strlen(seen->text);
    int end = scope->end_ns == INT64_MAX ? -1 : (int)scope->end_ns - 1000;
    snprintf(seen->text + len, sizeof seen->text - len, "%d/%d:%d-%d ", (int)scope->name,
             (int)scope->depth, (int)scope->begin_ns - 1000, end);
}

static void scopes_are_paired_and_short_ones_thinned(void **state)
{
    (void)state;
    /* 1 holds 2 and 3, which are short; 4 does not end. */
    struct store *store = store_of(BATCH(
        "scope_event_batch",
        "\"dt_ns\",\"scope_instance_id\",\"name_id\",\"event_type\",\"depth\"",
        "[0,1,11,0,0],[1,2,12,0,1],[2,2,12,1,1],[3,3,13,0,1],[4,3,13,1,1],[50,1,11,1,0],"
        "[60,4,14,0,0],[61,9,19,1,0]"));
    static const struct {
        struct series_axis axis;
        const char *seen;
    } row[] = {
        {{1000, 1100, 1}, "12/1:1-2 13/1:3-4 11/0:0-50 14/0:60--1 "},
        {{1000, 1100, 10}, "12/1:1-2 11/0:0-50 14/0:60--1 "},
        {{1020, 1030, 1}, "11/0:0-50 "},
        {{1051, 1059, 1}, ""},
        {{1070, 1080, 1}, "14/0:60--1 "},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct seen seen = {""};
        assert_int_equal(series_scopes(store, 1, &row[i].axis, see_scope, &seen),
                         GPUFL_OK);
        assert_string_equal(seen.text, row[i].seen);
    }
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_axis_spans_the_session_unless_told),
        cmocka_unit_test(a_slice_has_the_least_and_the_largest_value),
        cmocka_unit_test(scopes_are_paired_and_short_ones_thinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
