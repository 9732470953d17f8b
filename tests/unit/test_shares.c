/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a limit each owner gets, whatever the others take. SEED=n repeats a run. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/shares.h"
#include "tests/support/pick.h"

#define LIMIT  (64u << 20)
#define PART   (LIMIT / 4 / SHARES_PARTS)
#define OPEN   (LIMIT / 4 * 3)
#define GREEDY 1000u
#define ENTRY  1000u

/* All that it gets. */
static uint64_t take_all(struct shares *shares, uint32_t owner)
{
    while (shares_have_room(shares, owner, ENTRY)) {
        shares_add(shares, owner, ENTRY);
    }
    return shares_of(shares, owner);
}

static void one_alone_gets_most_and_leaves_room(void **state)
{
    (void)state;
    struct shares shares = {.limit = LIMIT};
    uint64_t first = take_all(&shares, GREEDY);
    assert_in_range(first, OPEN / 4 * 3 - 2 * ENTRY, OPEN / 4 * 3);
    uint64_t second = take_all(&shares, GREEDY + 1);
    assert_in_range(second, OPEN / 16 * 3 - 2 * ENTRY, OPEN / 16 * 3);
    shares_close(&shares);
}

static void each_of_the_first_owners_has_a_part_of_its_own(void **state)
{
    (void)state;
    struct shares shares = {.limit = LIMIT};
    for (uint32_t owner = 0; owner < SHARES_PARTS; owner++) {
        assert_true(take_all(&shares, owner) > PART - ENTRY);
    }
    assert_true(shares.amount <= LIMIT);
    shares_close(&shares);
}

static void the_limit_holds_for_any_number_of_owners(void **state)
{
    (void)state;
    struct shares shares = {.limit = LIMIT};
    for (uint32_t owner = 0; owner < 70000; owner += 7) {
        take_all(&shares, owner);
    }
    assert_true(shares.amount <= LIMIT);
    shares_close(&shares);
}

static void what_is_given_back_is_room_for_all(void **state)
{
    (void)state;
    struct shares shares = {.limit = LIMIT};
    uint64_t all = take_all(&shares, GREEDY);
    shares_remove(&shares, GREEDY, all - ENTRY);
    assert_int_equal(shares.amount, ENTRY);
    assert_int_equal(shares_of(&shares, GREEDY), ENTRY);
    assert_in_range(take_all(&shares, GREEDY + 1), OPEN / 4 * 3 - 3 * ENTRY, OPEN);
    shares_remove(&shares, GREEDY, ENTRY);
    shares_remove(&shares, GREEDY + 1, shares_of(&shares, GREEDY + 1));
    assert_int_equal(shares.amount, 0);
    assert_int_equal(shares_of(&shares, GREEDY), 0);
    shares_close(&shares); /* nothing is left to free: LeakSanitizer would tell */
}

static void without_a_limit_there_is_room(void **state)
{
    (void)state;
    struct shares shares = {0};
    shares_add(&shares, GREEDY, UINT32_MAX);
    assert_true(shares_have_room(&shares, GREEDY, UINT32_MAX));
    shares_close(&shares);
}

/* What was known before the limit, as after a restart with a lower one. */
static void over_the_limit_nothing_is_added(void **state)
{
    (void)state;
    struct shares shares = {.limit = LIMIT};
    shares_add(&shares, SHARES_NOBODY, LIMIT + 1);
    assert_false(shares_have_room(&shares, GREEDY, 1));
    shares_remove(&shares, SHARES_NOBODY, LIMIT + 1);
    assert_true(shares_have_room(&shares, GREEDY, 1));
    shares_close(&shares);
}

static void whatever_others_do_an_owner_gets_its_part(void **state)
{
    (void)state;
    enum { OWNERS = 40 };
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    struct shares shares = {.limit = LIMIT};
    uint64_t has[OWNERS] = {0};
    uint64_t sum = 0;
    printf("SEED=%llu\n", (unsigned long long)seed);
    pick_seed(seed);
    for (int i = 0; i < 200000; i++) {
        uint32_t owner = (uint32_t)(pick(OWNERS) * pick(2)); /* one is greedy */
        uint64_t amount = 1 + pick(PART);
        if (pick(5) > 0) {
            bool room = shares_have_room(&shares, owner, amount);
            assert_true(room || has[owner] + amount > PART);
            shares_add(&shares, owner, room ? amount : 0);
            has[owner] += room ? amount : 0;
            sum += room ? amount : 0;
        } else if (has[owner]) {
            amount = 1 + pick(has[owner]);
            shares_remove(&shares, owner, amount);
            has[owner] -= amount;
            sum -= amount;
        }
        assert_int_equal(shares.amount, sum);
        assert_int_equal(shares_of(&shares, owner), has[owner]);
        assert_true(sum <= LIMIT);
    }
    shares_close(&shares);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_alone_gets_most_and_leaves_room),
        cmocka_unit_test(each_of_the_first_owners_has_a_part_of_its_own),
        cmocka_unit_test(the_limit_holds_for_any_number_of_owners),
        cmocka_unit_test(what_is_given_back_is_room_for_all),
        cmocka_unit_test(without_a_limit_there_is_room),
        cmocka_unit_test(over_the_limit_nothing_is_added),
        cmocka_unit_test(whatever_others_do_an_owner_gets_its_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
