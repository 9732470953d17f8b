/* SPDX-License-Identifier: Apache-2.0 */
/* In which order what several owners have queued is taken. SEED=n repeats a run. */
#include "tests/support/check.h"

#include <stdlib.h>
#include <time.h>

#include "tests/support/pick.h"
#include "upload/owners/lanes.h"

struct thing {
    struct queue_node node;
    unsigned number;
    enum lanes_choice choice;
};

static enum lanes_choice as_it_says(void *arg, struct queue_node *node)
{
    (void)arg;
    return ((struct thing *)node)->choice;
}

static unsigned take(struct lanes *lanes)
{
    const struct thing *thing = (struct thing *)lanes_take(lanes, as_it_says, NULL);
    return thing ? thing->number : 0;
}

static void push(struct lanes *lanes, struct thing *thing, unsigned first, unsigned count,
                 uint32_t owner)
{
    for (unsigned i = 0; i < count; i++) {
        thing[i] = (struct thing){.number = first + i};
        lanes_push(lanes, owner, &thing[i].node);
    }
}

static void assert_taken(struct lanes *lanes, const unsigned *expected, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(take(lanes), expected[i]);
    }
    assert_int_equal(take(lanes), 0);
}

static void owners_take_turns_each_in_its_own_order(void **state)
{
    (void)state;
    struct lanes lanes = {0};
    struct thing thing[6];
    push(&lanes, thing, 1, 4, 1000);
    push(&lanes, thing + 4, 11, 2, 1001);
    assert_taken(&lanes, (unsigned[]){1, 11, 2, 12, 3, 4}, 6);
}

static void one_that_comes_late_waits_for_one_of_each_other(void **state)
{
    (void)state;
    struct lanes lanes = {0};
    struct thing thing[201];
    push(&lanes, thing, 1, 100, 1000);
    push(&lanes, thing + 100, 101, 100, 1001);
    for (int i = 0; i < 7; i++) {
        take(&lanes);
        lanes_rewind(&lanes);
    }
    push(&lanes, thing + 200, 201, 1, 1002);
    unsigned before = 0;
    while (take(&lanes) != 201) {
        lanes_rewind(&lanes);
        before++;
    }
    assert_in_range(before, 0, 2);
}

static void what_is_passed_over_keeps_its_place(void **state)
{
    (void)state;
    struct lanes lanes = {0};
    struct thing thing[5];
    push(&lanes, thing, 1, 4, 1000);
    thing[0].choice = thing[2].choice = LANES_PASS;
    thing[3].choice = LANES_DROP;
    assert_taken(&lanes, (unsigned[]){2}, 1);
    lanes_rewind(&lanes);
    thing[0].choice = thing[2].choice = LANES_TAKE;
    push(&lanes, thing + 4, 5, 1, 1000);
    assert_taken(&lanes, (unsigned[]){1, 3, 5}, 3);
    lanes_rewind(&lanes);
    assert_int_equal(lanes.count, 0);
}

static void what_was_not_looked_at_stays_behind_what_was_passed_over(void **state)
{
    (void)state;
    struct lanes lanes = {0};
    struct thing thing[4];
    push(&lanes, thing, 1, 4, 1000);
    thing[0].choice = LANES_PASS;
    assert_int_equal(take(&lanes), 2);
    lanes_rewind(&lanes);
    thing[0].choice = LANES_TAKE;
    assert_taken(&lanes, (unsigned[]){1, 3, 4}, 3);
}

static void with_very_many_owners_nothing_is_lost(void **state)
{
    (void)state;
    static struct lanes lanes;
    static struct thing thing[2 * LANES_MAX];
    for (unsigned i = 0; i < 2 * LANES_MAX; i++) {
        push(&lanes, thing + i, i + 1, 1, i * 7919);
    }
    unsigned taken = 0;
    while (take(&lanes)) {
        taken++;
    }
    assert_int_equal(taken, 2 * LANES_MAX);
    lanes_rewind(&lanes);
    assert_int_equal(lanes.count, 0);
}

/* Owners queue things and one is taken at a time, at random. Each thing waits for what
 * its owner had queued before it, and then for one thing of each other owner. */
static void each_owner_has_one_turn_in_each_round(void **state)
{
    (void)state;
    enum { OWNERS = 400, THINGS = 3000 };
    static struct lanes lanes;
    static struct thing thing[THINGS];
    static unsigned owner_of[THINGS];
    unsigned skipped[OWNERS] = {0}; /* turns of others since its own, while it waits */
    unsigned waits[OWNERS] = {0};
    unsigned pushed = 0;
    unsigned waiting = 0;
    const char *seed = getenv("SEED");
    uint64_t seeded = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    print_message("SEED=%llu\n", (unsigned long long)seeded);
    pick_seed(seeded);
    while (pushed < THINGS || waiting > 0) {
        if (pushed < THINGS && (waiting == 0 || pick(3) > 0)) {
            unsigned who = pick(2) ? (unsigned)pick(3) : (unsigned)pick(OWNERS);
            thing[pushed] = (struct thing){.number = pushed + 1};
            owner_of[pushed] = who;
            skipped[who] = waits[who]++ ? skipped[who] : 0;
            lanes_push(&lanes, who * 65536, &thing[pushed++].node);
            waiting++;
            continue;
        }
        unsigned number = take(&lanes);
        assert_in_range(number, 1, pushed);
        unsigned who = owner_of[number - 1];
        waits[who]--;
        waiting--;
        for (unsigned i = 0; i < OWNERS; i++) {
            skipped[i] = i != who && waits[i] ? skipped[i] + 1 : 0;
            assert_in_range(skipped[i], 0, OWNERS);
        }
        if (pick(2)) {
            lanes_rewind(&lanes);
        }
    }
    lanes_rewind(&lanes);
    assert_int_equal(lanes.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owners_take_turns_each_in_its_own_order),
        cmocka_unit_test(one_that_comes_late_waits_for_one_of_each_other),
        cmocka_unit_test(what_is_passed_over_keeps_its_place),
        cmocka_unit_test(what_was_not_looked_at_stays_behind_what_was_passed_over),
        cmocka_unit_test(each_owner_has_one_turn_in_each_round),
        cmocka_unit_test(with_very_many_owners_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
