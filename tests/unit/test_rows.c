/* SPDX-License-Identifier: Apache-2.0 */
/* Batches become numbers by column, whatever they hold. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/digest/rows.h"
#include "tests/support/pick.h"
#include "tests/support/spaced_rows.h"

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

/* Hundreds of times the memory of the line, and of the database. */
static void rows_that_leave_out_most_cells_are_refused(void **state)
{
    (void)state;
    static const char begin[] = "{\"columns\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\","
                                "\"h\",\"i\",\"j\",\"k\",\"l\"],\"rows\":[[]";
    struct rows rows = {0};
    char line[2048];
    size_t len = (size_t)snprintf(line, sizeof line, "%s", begin);
    assert_true(
        read_rows(&rows, strcat(line, "]}"))); /* some are missing: that is fine */
    while (len + 6 < sizeof line) {
        len += (size_t)snprintf(line + len, sizeof line - len, ",[]");
    }
    assert_false(read_rows(&rows, strcat(line, "]}")));
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
    memcpy(line, head, sizeof head);
    char *at = line + sizeof head - 1;
    for (size_t i = 0; i < rows_in_it; i++) {
        memcpy(at, ",[1]", 4);
        at += 4;
    }
    memcpy(at, "]}", 3);
    struct rows rows = {0};
    assert_false(read_rows(&rows, line));
    rows_fini(&rows);
    free(line);
}

static void a_number_is_cut_to_an_integer(void **state)
{
    (void)state;
    static const struct {
        const char *cell;
        int64_t value;
    } row[] = {
        {"0", 0},
        {"-0", 0},
        {" 7 ", 7},
        {"-9223372036854775807", -INT64_MAX},
        {"9223372036854775807", INT64_MAX},
        {"18446744073709551615", -1},
        {"1.9", 1},
        {"-1.9", -1},
        {"2e3", 2000},
        {"1E-2", 0},
        {"1e300", ROWS_NOTHING},
        {"0.00000000000000000000000000000000000000001", ROWS_NOTHING},
        {"null", ROWS_NOTHING},
        {"true", ROWS_NOTHING},
        {"\"7\"", ROWS_NOTHING},
        {"[1,{\"a\":2}]", ROWS_NOTHING},
        {"-", ROWS_NOTHING},
    };
    struct rows rows = {0};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char line[160];
        snprintf(line, sizeof line, "{\"columns\":[\"a\",\"b\"],\"rows\":[[%s,5]]}",
                 row[i].cell);
        assert_true(read_rows(&rows, line));
        assert_int_equal(rows_cell(&rows, 0, 0), row[i].value);
        assert_int_equal(rows_cell(&rows, 0, 1), 5);
    }
    rows_fini(&rows);
}

static void a_row_has_a_time_and_defaults(void **state)
{
    (void)state;
    struct rows rows = {0};
    assert_true(read_rows(&rows, "{\"base_time_ns\":1000,\"columns\":[\"dt_ns\",\"a\"],"
                                 "\"rows\":[[5,1],[null,null],[]]}"));
    int dt = rows_column(&rows, ROWS_TIME);
    assert_int_equal(rows_time_ns(&rows, 0, dt), 1005);
    assert_int_equal(rows_time_ns(&rows, 1, dt), 1000);
    assert_int_equal(rows_time_ns(&rows, 2, -1), 1000);
    assert_int_equal(rows_cell_or(&rows, 0, 1, 9), 1);
    assert_int_equal(rows_cell_or(&rows, 1, 1, 9), 9);
    assert_int_equal(rows_cell_or(&rows, 0, -1, 9), 9);
    rows_fini(&rows);
}

static void only_columns_that_are_wanted_are_read(void **state)
{
    (void)state;
    static const char *const wanted[] = {"b", "d", NULL};
    static const char line[] =
        "{\"columns\":[\"a\",\"b\",\"c\",\"a name of more than thirty-two bytes\"],"
        "\"rows\":[[1,-2,123456789012,4],[5,6,7,8],[9,10,11,12]]}";
    struct rows rows = {.wanted = wanted};
    assert_true(read_rows(&rows, line));
    int b = rows_column(&rows, "b");
    assert_int_equal(b, 1);
    assert_int_equal(rows_column(&rows, "d"), -1);
    assert_int_equal(rows_column(&rows, ""), -1);
    assert_true(rows_cell(&rows, 0, b) == -2 && rows_cell(&rows, 1, b) == 6 &&
                rows_cell(&rows, 2, b) == 10);
    assert_true(rows_cell(&rows, 0, 2) == ROWS_NOTHING);
    rows.wanted = NULL;
    assert_true(read_rows(&rows, line));
    assert_true(rows_cell(&rows, 0, 2) == 123456789012);
    rows_fini(&rows);
}

/* Mostly integers, as writers make them, of any length and sign. */
static size_t random_cell(char *out, size_t size)
{
    static const char *const others[] = {"null", "1.5", "-2e3", "\"a\"", "[1,2]", "-",
                                         "",     " 7",  "7 ",   "true",  "{}",    "0x1"};
    uint64_t number = pick(UINT64_MAX) >> pick(64);
    if (pick(40) == 0) {
        return (size_t)snprintf(out, size, "%s", others[pick(12)]);
    }
    return (size_t)snprintf(out, size, "%s%llu%s", pick(8) ? "" : "-",
                            (unsigned long long)number, pick(50) ? "" : "12345678901");
}

static size_t random_line(char *out, size_t size)
{
    unsigned columns = (unsigned)pick(6) + 1;
    size_t len = (size_t)snprintf(out, size, "{\"base_time_ns\":5,\"columns\":[\"a\"");
    for (unsigned i = 1; i < columns; i++) {
        len += (size_t)snprintf(out + len, size - len, ",\"b%u\"", i);
    }
    len += (size_t)snprintf(out + len, size - len, "],\"rows\":[");
    for (unsigned rows = (unsigned)pick(9), i = 0; i < rows; i++) {
        len += (size_t)snprintf(out + len, size - len, i ? ",[" : "[");
        unsigned cells = pick(30) ? columns : (unsigned)pick(8);
        for (unsigned n = 0; n < cells; n++) {
            len += n ? (size_t)snprintf(out + len, size - len, ",") : 0;
            len += random_cell(out + len, size - len);
        }
        len += (size_t)snprintf(out + len, size - len, "]");
    }
    return len + (size_t)snprintf(out + len, size - len, "]}");
}

static void rows_are_read_alike_by_words_and_by_bytes(void **state)
{
    (void)state;
    static const char bytes[] = "0123456789-,.[]{}\": e\\\x80/;";
    pick_seed(1);
    for (int round = 0; round < 20000; round++) {
        char line[4096];
        size_t len = random_line(line, sizeof line);
        for (unsigned n = (unsigned)pick(3); pick(3) == 0 && n > 0; n--) {
            line[pick(len)] = bytes[pick(sizeof bytes - 1)];
        }
        len = pick(20) ? len : pick(len);
        struct spaced_rows both = spaced_rows_of(line, len);
        if (!spaced_rows_agree(&both)) {
            fail_msg("read otherwise with spaces: %.*s", (int)len, line);
        }
        spaced_rows_fini(&both);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_numbers_by_column),
        cmocka_unit_test(what_is_no_batch_is_refused),
        cmocka_unit_test(rows_that_leave_out_most_cells_are_refused),
        cmocka_unit_test(a_batch_of_too_many_cells_is_refused),
        cmocka_unit_test(a_number_is_cut_to_an_integer),
        cmocka_unit_test(a_row_has_a_time_and_defaults),
        cmocka_unit_test(only_columns_that_are_wanted_are_read),
        cmocka_unit_test(rows_are_read_alike_by_words_and_by_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
