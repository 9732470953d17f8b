/* SPDX-License-Identifier: Apache-2.0 */
/* What a record's time is on our clock, for clocks that people lend to CUPTI or set. */
#include "tests/support/check.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "collector-lib/cupti/record_clock.h"

#define MS    INT64_C(1000000)
#define START INT64_C(5000000000)

/* A session of \p samples, 100 ms apart, on a clock of \p rate ticks a nanosecond. */
static struct record_clock sampled(unsigned samples, uint64_t rate)
{
    struct record_clock c = {.count = 0};
    for (unsigned i = 0; i < samples; i++) {
        int64_t ours = START + i * 100 * MS;
        record_clock_add(&c, (uint64_t)ours * rate + 77, ours);
    }
    return c;
}

static void assert_near(int64_t got, int64_t expected, int64_t within)
{
    if (llabs(got - expected) > within) {
        fail_msg("%" PRId64 " is not within %" PRId64 " ns of %" PRId64, got, within,
                 expected);
    }
}

static void any_steady_clock_is_followed(void **state)
{
    (void)state;
    const uint64_t rates[] = {1, 3, 1000};
    const unsigned lengths[] = {2, 3, RECORD_CLOCK_PAIRS, 3 * RECORD_CLOCK_PAIRS};
    for (size_t r = 0; r < 3; r++) {
        for (size_t l = 0; l < 4; l++) {
            struct record_clock c = sampled(lengths[l], rates[r]);
            int64_t last = START + (lengths[l] - 1) * 100 * MS;
            for (int64_t at = START; at <= last; at += 7 * MS + 1) {
                assert_near(record_clock_ns(&c, (uint64_t)at * rates[r] + 77), at, 2);
            }
        }
    }
}

static void a_kernel_that_began_before_the_session_is_placed_before_it(void **state)
{
    (void)state;
    struct record_clock c = sampled(2, 3);
    assert_near(record_clock_ns(&c, (uint64_t)(START - 900 * MS) * 3 + 77),
                START - 900 * MS, 2);
    c = sampled(1, 1);
    assert_near(record_clock_ns(&c, (uint64_t)(START - 900 * MS) + 77), START - 900 * MS,
                0);
}

static void no_record_is_of_the_future(void **state)
{
    (void)state;
    struct record_clock c = sampled(3, 1);
    int64_t last = START + 200 * MS;
    assert_int_equal(record_clock_ns(&c, (uint64_t)(last + 5 * MS) + 77), last);
}

static void without_a_pair_the_time_is_unknown(void **state)
{
    (void)state;
    struct record_clock c = {.count = 0};
    assert_int_equal(record_clock_ns(&c, 12345), 0);
}

/* The clock is set 50 ms after a pair, by an hour or by a little, either way; each record
 * is read with the next pair. */
static void a_clock_that_is_set_moves_only_what_was_recorded_around_then(void **state)
{
    (void)state;
    const int64_t steps[] = {-3600000 * MS, -40 * MS, 40 * MS, 3600000 * MS};
    const int64_t epoch = 7200000 * MS;
    const int64_t set = START + 250 * MS;
    for (size_t s = 0; s < 4; s++) {
        struct record_clock c = {.count = 0};
        record_clock_add(&c, (uint64_t)(START + epoch), START);
        for (int64_t pair = START + 100 * MS; pair <= START + 500 * MS;
             pair += 100 * MS) {
            record_clock_add(&c, (uint64_t)(pair + (pair < set ? 0 : steps[s]) + epoch),
                             pair);
            for (int64_t at = pair - 95 * MS; at <= pair; at += 5 * MS) {
                int64_t theirs = at + (at < set ? 0 : steps[s]) + epoch;
                bool around = llabs(at - set) <= 100 * MS;
                assert_near(record_clock_ns(&c, (uint64_t)theirs), at,
                            around ? 100 * MS : 2);
            }
        }
    }
}

static uint64_t realtime(int64_t at)
{
    return UINT64_C(1764198000000000000) + (uint64_t)at;
}

/* 2.1 ticks a nanosecond. */
static uint64_t counter(int64_t at)
{
    return UINT64_C(50000000000000) + (uint64_t)at * 21 / 10;
}

/* Of kernels of 2 ms that ran on \p clock from \p from to \p to. */
static void assert_placed(const struct record_clock *c, uint64_t (*clock)(int64_t),
                          int64_t from, int64_t to)
{
    for (int64_t at = from; at + 2 * MS <= to; at += 3 * MS) {
        assert_near(record_clock_ns(c, clock(at)), at, 10);
        assert_near(record_clock_ns(c, clock(at + 2 * MS)), at + 2 * MS, 10);
    }
}

/* A profiler lends its clock 20 ms after a pair, and takes it away 20 ms after another.
 * The further pair that the doubt asks for tells the rate of the one that has come. */
static void a_clock_that_another_replaces_moves_nothing(void **state)
{
    (void)state;
    uint64_t (*const clocks[])(int64_t) = {realtime, counter, realtime, counter};
    for (unsigned pairs = 1; pairs < 5; pairs++) {
        struct record_clock c = {.count = 0};
        record_clock_add(&c, counter(START), START);
        int64_t at = START;
        for (unsigned n = 0; n < 4; n++) {
            for (unsigned p = 0; p < pairs; p++) {
                int64_t before = at;
                at += 100 * MS;
                record_clock_add(&c, clocks[n](at), at);
                if (record_clock_in_doubt(&c)) {
                    at += 2 * MS;
                    record_clock_add(&c, clocks[n](at), at);
                }
                assert_false(record_clock_in_doubt(&c));
                if (p == 0 && n > 0) {
                    assert_placed(&c, clocks[n - 1], before, before + 20 * MS);
                }
                assert_placed(&c, clocks[n], p ? before : before + 20 * MS, at);
            }
        }
        assert_placed(&c, realtime, START + 20 * MS, START + pairs * 100 * MS);
    }
}

/* The further pair failed: the times are in order between the pairs. */
static void a_clock_of_unknown_rate_stays_within_its_interval(void **state)
{
    (void)state;
    struct record_clock c = {.count = 0};
    for (int64_t at = START; at <= START + 500 * MS; at += 50 * MS) {
        record_clock_add(&c, realtime(at), at);
    }
    int64_t last = START + 550 * MS;
    record_clock_add(&c, counter(last), last);
    assert_true(record_clock_in_doubt(&c));
    int64_t before = last - 50 * MS;
    for (int64_t at = last - 40 * MS; at <= last; at += MS) {
        int64_t got = record_clock_ns(&c, counter(at));
        assert_true(got >= before && got <= last);
        before = got;
    }
}

static void while_the_clock_cannot_be_read_it_goes_on(void **state)
{
    (void)state;
    const uint64_t rates[] = {1, 3};
    for (size_t r = 0; r < 2; r++) {
        for (unsigned samples = (unsigned)rates[r]; samples < 5; samples++) {
            struct record_clock c = sampled(samples, rates[r]);
            int64_t last = START + (samples - 1) * 100 * MS;
            record_clock_failed(&c, last + 300 * MS);
            for (int64_t at = last; at <= last + 300 * MS; at += 7 * MS) {
                assert_near(record_clock_ns(&c, (uint64_t)at * rates[r] + 77), at, 2);
            }
            assert_int_equal(
                record_clock_ns(&c, (uint64_t)(last + 400 * MS) * rates[r] + 77),
                last + 300 * MS);
        }
    }
}

/* Two reads of a clock are at most so exact: 100 ns in 1 ms would be 100 us in a second.
 */
static void pairs_that_are_close_do_not_bend_the_line(void **state)
{
    (void)state;
    struct record_clock c = {.count = 0};
    record_clock_add(&c, START, START);
    for (int i = 1; i <= 200; i++) {
        record_clock_add(&c, (uint64_t)(START + i * MS + (i % 2 ? 100 : -100)),
                         START + i * MS);
    }
    assert_near(record_clock_ns(&c, (uint64_t)(START - 1000 * MS)), START - 1000 * MS,
                30000);
    assert_near(record_clock_ns(&c, START + 200 * MS), START + 200 * MS, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_steady_clock_is_followed),
        cmocka_unit_test(a_kernel_that_began_before_the_session_is_placed_before_it),
        cmocka_unit_test(no_record_is_of_the_future),
        cmocka_unit_test(without_a_pair_the_time_is_unknown),
        cmocka_unit_test(a_clock_that_is_set_moves_only_what_was_recorded_around_then),
        cmocka_unit_test(a_clock_that_another_replaces_moves_nothing),
        cmocka_unit_test(a_clock_of_unknown_rate_stays_within_its_interval),
        cmocka_unit_test(while_the_clock_cannot_be_read_it_goes_on),
        cmocka_unit_test(pairs_that_are_close_do_not_bend_the_line)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
