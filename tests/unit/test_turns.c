/* SPDX-License-Identifier: Apache-2.0 */
/* When each owner had its turn last. SEED=n repeats a run. */
#include "tests/support/check.h"

#include <stdlib.h>
#include <time.h>

#include "tests/support/pick.h"
#include "upload/owners/lanes.h"

#define OF_ONE_SET (3 * TURNS_OF_SETS)
#define OWNERS     100
#define ROUNDS     50

static void seed_turns(void)
{
    const char *seed = getenv("SEED");
    uint64_t seeded = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    print_message("SEED=%llu\n", (unsigned long long)seeded);
    pick_seed(seeded);
}

static void who_had_none_goes_before_who_had_one(void **state)
{
    (void)state;
    static struct turns turns;
    assert_int_equal(turns_last(&turns, 0), 0);
    turns_take(&turns, 0);
    turns_take(&turns, 1256);
    turns_take(&turns, 1000);
    assert_int_equal(turns_last(&turns, 0), 1);
    assert_int_equal(turns_last(&turns, 1256), 2);
    assert_int_equal(turns_last(&turns, 1000), 3); /* equal modulo 256 */
    turns_take(&turns, 0);
    assert_int_equal(turns_last(&turns, 0), 4);
    assert_int_equal(turns_last(&turns, 1001), 0);
}

/* Three times as many owners as a set has places for, and some of other sets: each takes
 * a turn when no other one's is longer ago. */
static void nobody_starves_though_owners_are_forgotten(void **state)
{
    (void)state;
    static struct turns turns;
    uint32_t owner[OWNERS];
    unsigned had[OWNERS] = {0};
    seed_turns();
    for (unsigned i = 0; i < OWNERS; i++) {
        do {
            owner[i] = (uint32_t)pick(1u << 30);
        } while (i < OF_ONE_SET && owner[i] * 2654435761u >> 23 != 7);
    }
    for (unsigned n = 0; n < ROUNDS * OWNERS; n++) {
        unsigned next = 0;
        uint64_t first = UINT64_MAX;
        for (unsigned i = 0; i < OWNERS; i++) {
            uint64_t last = turns_last(&turns, owner[i]);
            if (last < first || (last == first && had[i] < had[next])) {
                next = i;
                first = last;
            }
        }
        turns_take(&turns, owner[next]);
        had[next]++;
    }
    for (unsigned i = 0; i < OWNERS; i++) {
        assert_in_range(had[i], ROUNDS / 4, 4 * ROUNDS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_had_none_goes_before_who_had_one),
        cmocka_unit_test(nobody_starves_though_owners_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
