/* SPDX-License-Identifier: Apache-2.0 */
/* What the backend makes of a body's rows: numbers, sums, packed tables. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/digest/digest_line.h"
#include "backend/digest/metric_columns.h"
#include "tests/support/pick.h"

#define MOST_ROWS 300u
#define ROUNDS    200

static bool read_rows(struct rows *rows, const char *line)
{
    return rows_read(rows, line, strlen(line));
}

static void rows_are_numbers_by_column(void **state)
{
    (void)state;
    struct rows rows = {0};
    assert_true(read_rows(&rows,
                          "{\"type\":\"x\",\"text\":\"a\\\"]}\",\"deep\":{\"a\":[1,{}]},"
                          "\"base_time_ns\":100,\"columns\":[\"dt_ns\",\"a\",\"b\"],"
                          "\"rows\":[[0,1,-2],[5,18446744073709551615,1.5e3,9],[7]]}"));
    assert_int_equal(rows.count, 3);
    assert_true(rows.base_ns == 100);
    int a = rows_column(&rows, "a");
    int b = rows_column(&rows, "b");
    assert_int_equal(rows_column(&rows, "c"), -1);
    assert_true(rows_cell(&rows, 0, a) == 1 && rows_cell(&rows, 0, b) == -2);
    assert_true(rows_cell(&rows, 1, a) == -1); /* the bits of an unsigned number */
    assert_true(rows_cell(&rows, 1, b) == 1500);
    assert_true(rows_cell(&rows, 2, a) == ROWS_NOTHING);
    assert_true(rows_cell(&rows, 2, -1) == ROWS_NOTHING);
    assert_true(read_rows(
        &rows, "{ \"columns\" : [ \"a\" ] , \"rows\" : [ [ 1 ] , [ null ] ] }"));
    assert_int_equal(rows.count, 2);
    assert_true(rows_cell(&rows, 1, 0) == ROWS_NOTHING);
    rows_fini(&rows);
}

static void what_is_no_batch_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "{}",
                                      "[]",
                                      "{\"rows\":[[1]]}",
                                      "{\"columns\":[],\"rows\":[]}",
                                      "{\"columns\":[\"a\"],\"rows\":[[1]",
                                      "{\"columns\":[\"a\"],\"rows\":[[1],]}",
                                      "{\"columns\":[\"a\"],\"rows\":[1]}",
                                      "{\"columns\":[1],\"rows\":[[1]]}",
                                      "{\"columns\":[\"a\"],\"rows\":[[1]]",
                                      "{\"columns\":[\"a\\",
                                      "{\"base_time_ns\":null,"
                                      "\"columns\":[\"a\"],\"rows\":[[1]]}"};
    struct rows rows = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (read_rows(&rows, bad[i])) {
            fail_msg("taken: %s", bad[i]);
        }
    }
    /* Columns that come after the rows do not widen them. */
    assert_true(read_rows(&rows, "{\"columns\":[\"a\"],\"rows\":[[1],[2]],"
                                 "\"columns\":[\"a\",\"b\",\"c\"],\"rows\":[[3,4,5]]}"));
    assert_int_equal(rows.columns, 1);
    assert_int_equal(rows.count, 2);
    rows_fini(&rows);
}

static void a_batch_of_too_many_cells_is_refused(void **state)
{
    (void)state;
    static const char head[] = "{\"columns\":[\"a\",\"b\",\"c\",\"d\"],\"rows\":[[1]";
    size_t rows_in_it = ROWS_CELLS_MAX / 4;
    char *line = malloc(sizeof head + rows_in_it * 4 + 4);
    assert_non_null(line);
    char *at = line + sprintf(line, "%s", head);
    for (size_t i = 0; i < rows_in_it; i++) {
        memcpy(at, ",[1]", 4);
        at += 4;
    }
    strcpy(at, "]}");
    struct rows rows = {0};
    assert_false(read_rows(&rows, line));
    rows_fini(&rows);
    free(line);
}

static int64_t some_value(unsigned kind)
{
    uint64_t bits = pick(UINT64_MAX);
    switch (kind) {
    case 0:
        return 7;
    case 1:
        return (int64_t)(bits % 200) - 100;
    case 2:
        return (int64_t)(bits % 70000);
    case 3:
        return (int64_t)(bits % 5000000000);
    default:
        return (int64_t)bits;
    }
}

static void a_packed_table_gives_its_numbers_back(void **state)
{
    (void)state;
    const char *seed = getenv("SEED");
    uint64_t seeded = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    print_message("SEED=%llu\n", (unsigned long long)seeded);
    pick_seed(seeded);
    static int64_t value[3][MOST_ROWS];
    static int64_t back[MOST_ROWS];
    for (int round = 0; round < ROUNDS; round++) {
        struct text packed = {0};
        size_t rows = 1 + pick(MOST_ROWS - 1);
        for (unsigned c = 0; c < 3; c++) {
            unsigned kind = (unsigned)pick(5);
            for (size_t i = 0; i < rows; i++) {
                value[c][i] = some_value(kind);
            }
            assert_true(pack_column(&packed, value[c], rows));
        }
        for (unsigned c = 0; c < 3; c++) {
            assert_true(pack_read_column(&packed, rows, c, back));
            assert_memory_equal(back, value[c], rows * sizeof back[0]);
        }
        assert_false(pack_read_column(&packed, rows, 3, back));
        struct text cut = {.data = packed.data, .len = packed.len - 1};
        assert_false(pack_read_column(&cut, rows, 2, back));
        text_fini(&packed);
    }
}

static void sums_are_kept_by_key_and_the_rest_is_unknown(void **state)
{
    (void)state;
    struct tallies tallies = {0};
    for (int64_t i = 0; i < 200000; i++) {
        struct tally_key key = {.a = i + 1, .kind = TALLY_KERNEL};
        assert_true(tally_add(&tallies, &key, i, 2));
        assert_true(tally_add(&tallies, &key, i, 2));
    }
    uint64_t rows = 0;
    uint64_t keys = 0;
    int64_t bytes = 0;
    for (size_t i = 0; i < tallies.cap; i++) {
        rows += tallies.slot[i].count;
        bytes += tallies.slot[i].bytes;
        keys += tallies.slot[i].count > 0;
    }
    assert_int_equal(rows, 400000);
    assert_int_equal(bytes, 800000);
    assert_int_equal(keys, 100001);
    tally_fini(&tallies);
}

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
    char *at = line + sprintf(line, "{\"columns\":[\"device_id\"],\"rows\":[[0]");
    for (int i = 1; i < 200000; i++) {
        at += sprintf(at, ",[%d]", i);
    }
    strcpy(at, "]}");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_numbers_by_column),
        cmocka_unit_test(what_is_no_batch_is_refused),
        cmocka_unit_test(a_batch_of_too_many_cells_is_refused),
        cmocka_unit_test(a_packed_table_gives_its_numbers_back),
        cmocka_unit_test(sums_are_kept_by_key_and_the_rest_is_unknown),
        cmocka_unit_test(metrics_are_packed_by_device),
        cmocka_unit_test(a_hostile_batch_costs_little)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
