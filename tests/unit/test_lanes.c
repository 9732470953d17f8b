/* SPDX-License-Identifier: Apache-2.0 */
/* In which order what several owners have queued is taken. */
#include "tests/support/check.h"

#include "upload/core/lanes.h"

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
    struct lanes lanes = {0};
    struct thing thing[1000];
    for (unsigned i = 0; i < 1000; i++) {
        push(&lanes, thing + i, i + 1, 1, i * 7919);
    }
    unsigned taken = 0;
    while (take(&lanes)) {
        taken++;
    }
    assert_int_equal(taken, 1000);
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
        cmocka_unit_test(with_very_many_owners_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
