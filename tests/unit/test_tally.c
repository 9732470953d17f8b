/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by key. */
#include "tests/support/check.h"

#include "backend/digest/tally.h"

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

static void a_sum_has_the_extremes_of_its_values(void **state)
{
    (void)state;
    static const int64_t value[] = {5, -3, 9, INT64_MAX};
    struct tallies tallies = {0};
    struct tally_key key = {.a = 1, .b = 2, .c = 3, .kind = TALLY_SAMPLE};
    for (size_t i = 0; i < sizeof value / sizeof *value; i++) {
        assert_true(tally_add(&tallies, &key, value[i], 1));
    }
    struct tally_key other = {.a = 1, .b = 2, .c = 3, .kind = TALLY_LINE};
    assert_true(tally_add(&tallies, &other, 1, 0));
    assert_int_equal(tallies.used, 2);
    for (size_t i = 0; i < tallies.cap; i++) {
        const struct tally *t = &tallies.slot[i];
        if (t->count && t->key.kind == TALLY_SAMPLE) {
            assert_int_equal(t->count, 4);
            assert_int_equal(t->min, -3);
            assert_true(t->max == INT64_MAX);
            assert_true(t->total == INT64_MIN + 10); /* it wraps */
            assert_int_equal(t->bytes, 4);
        }
    }
    tally_fini(&tallies);
}

/* Else the sender of the keys would know which ones collide. */
static void two_tables_place_the_same_keys_apart(void **state)
{
    (void)state;
    struct tallies tallies[2] = {{0}, {0}};
    unsigned apart = 0;
    for (int64_t i = 0; i < 1000; i++) {
        struct tally_key key = {.a = i, .b = -i, .kind = TALLY_SAMPLE};
        assert_true(tally_add(&tallies[0], &key, i, 0));
        assert_true(tally_add(&tallies[1], &key, i, 0));
    }
    for (size_t i = 0; i < tallies[0].cap; i++) {
        apart += tallies[0].slot[i].key.a != tallies[1].slot[i].key.a;
    }
    assert_true(apart > 100);
    tally_fini(&tallies[0]);
    tally_fini(&tallies[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_kept_by_key_and_the_rest_is_unknown),
        cmocka_unit_test(a_sum_has_the_extremes_of_its_values),
        cmocka_unit_test(two_tables_place_the_same_keys_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
