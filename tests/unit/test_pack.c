/* SPDX-License-Identifier: Apache-2.0 */
/* Packed columns give their numbers back, and bad ones are refused. */
#include "tests/support/check.h"

#include <stdlib.h>
#include <time.h>

#include "backend/digest/pack.h"
#include "tests/support/pick.h"

#define MOST_ROWS 300u
#define ROUNDS    200

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

static void a_column_takes_as_many_bytes_as_its_span(void **state)
{
    (void)state;
    static const struct {
        int64_t value[2];
        size_t bytes; /* 8 for the minimum, 1 for the width, 2 rows */
    } row[] = {
        {{7, 7}, 9},
        {{0, 255}, 9 + 2 * 1},
        {{-1, 255}, 9 + 2 * 2},
        {{0, 65535}, 9 + 2 * 2},
        {{0, 65536}, 9 + 2 * 4},
        {{0, UINT32_MAX}, 9 + 2 * 4},
        {{0, (int64_t)UINT32_MAX + 1}, 9 + 2 * 8},
        {{INT64_MIN, INT64_MAX}, 9 + 2 * 8},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct text packed = {0};
        int64_t back[2];
        assert_true(pack_column(&packed, row[i].value, 2));
        assert_int_equal(packed.len, row[i].bytes);
        assert_true(pack_read_column(&packed, 2, 0, back));
        assert_memory_equal(back, row[i].value, sizeof back);
        text_fini(&packed);
    }
}

static void a_damaged_table_is_refused(void **state)
{
    (void)state;
    char bytes[9 + 2] = {0};
    int64_t back[4];
    struct text table = {.data = bytes, .len = sizeof bytes};
    bytes[8] = 1;
    assert_true(pack_read_column(&table, 2, 0, back));
    assert_false(pack_read_column(&table, 3, 0, back)); /* more rows than bytes */
    bytes[8] = 9;
    assert_false(pack_read_column(&table, 1, 0, back)); /* no such width */
    table.len = 8;
    assert_false(pack_read_column(&table, 0, 0, back));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packed_table_gives_its_numbers_back),
        cmocka_unit_test(a_column_takes_as_many_bytes_as_its_span),
        cmocka_unit_test(a_damaged_table_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
