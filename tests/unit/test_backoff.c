/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting spreads out and is bounded; the bucket keeps its rate. */
#include "tests/support/check.h"

#include <string.h>

#include "upload/pace/backoff.h"
#include "upload/pace/bucket.h"

static uint64_t random_value;
static void fixed_random(void *out, size_t len)
{
    memcpy(out, &random_value, len);
}

static void waits_double_up_to_the_cap(void **state)
{
    (void)state;
    struct sys sys = {.random = fixed_random};
    random_value = 500;
    assert_int_equal(backoff_ms(&sys, 1, 500, 30000, 0), 500);
    random_value = 4000;
    assert_int_equal(backoff_ms(&sys, 4, 500, 30000, 0), 4000);
    random_value = 30000;
    assert_int_equal(backoff_ms(&sys, 1000, 500, 30000, 0), 30000);
    random_value = 0;
    assert_int_equal(backoff_ms(&sys, 9, 500, 30000, 0), 0);
    assert_int_equal(backoff_ms(&sys, 9, 500, 30000, 7000), 7000);
    assert_int_equal(backoff_ms(&sys, 9, 500, 30000, 1u << 31), 3600000);
    random_value = 1750;
    assert_int_equal(backoff_ms(&sys, 1, 500, 30000, 7000), 8750);
}

static void a_bucket_lets_its_rate_through(void **state)
{
    (void)state;
    struct bucket bucket;
    uint64_t taken = 0;
    bucket_init(&bucket, 50, 0);
    for (uint64_t now = 0; now < 10000; now++) {
        while (bucket_take(&bucket, now) == 0) {
            taken++;
        }
    }
    assert_in_range(taken, 500, 511);
    assert_in_range(bucket_wait(&bucket, 10000), 0, 20);
    bucket_return(&bucket);
    assert_int_equal(bucket_take(&bucket, 10000), 0);
}

static void who_waits_waits_for_some(void **state)
{
    (void)state;
    static const unsigned rate[] = {1, 10, 50, 1000};
    static const unsigned some[] = {1, 1, 5, 100};
    for (size_t i = 0; i < sizeof rate / sizeof rate[0]; i++) {
        struct bucket bucket;
        unsigned taken = 0;
        bucket_init(&bucket, rate[i], 0);
        assert_int_equal(bucket_wait_for_some(&bucket, 0), 0);
        while (bucket_take(&bucket, 0) == 0) {
        }
        uint64_t then = bucket_wait_for_some(&bucket, 0);
        assert_true(then <= 1000);
        while (bucket_take(&bucket, then) == 0) {
            taken++;
        }
        assert_int_equal(taken, some[i]);
    }
}

static void rate_0_is_no_limit(void **state)
{
    (void)state;
    struct bucket bucket;
    bucket_init(&bucket, 0, 0);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(bucket_take(&bucket, 0), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_double_up_to_the_cap),
        cmocka_unit_test(a_bucket_lets_its_rate_through),
        cmocka_unit_test(who_waits_waits_for_some),
        cmocka_unit_test(rate_0_is_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
