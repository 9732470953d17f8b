/* SPDX-License-Identifier: Apache-2.0 */
/* How many directories of each owner a listing looks into before those of others. */
#include "tests/support/check.h"

#include "upload/owners/portions.h"

#define MANY 100000u

/* \return how many of them are looked into. */
static unsigned visit_all(struct portions *portions, uint32_t owner, unsigned directories)
{
    unsigned visited = 0;
    for (unsigned i = 0; i < directories; i++) {
        if (portions_turn(portions, owner) == PORTION_NOW) {
            portions_spend(portions, owner, 1);
            visited++;
        }
    }
    return visited;
}

static void who_has_few_is_served_in_the_first_round(void **state)
{
    (void)state;
    struct portions portions = {0};
    portions_begin(&portions, PORTIONS_FIRST);
    assert_int_equal(visit_all(&portions, 1, MANY), PORTIONS_FIRST);
    assert_int_equal(visit_all(&portions, 2, 100), 100);
    assert_false(portions_served(&portions, 2)); /* there may be more in this round */
    assert_true(portions_next(&portions));
    assert_true(portions_served(&portions, 2));
    assert_true(portions_served(&portions, 3));
    assert_int_equal(portions_turn(&portions, 2), PORTION_SERVED);
    assert_false(portions_served(&portions, 1));
    portions_end(&portions);
}

static void rounds_end_once_all_was_looked_into(void **state)
{
    (void)state;
    struct portions portions = {0};
    unsigned rounds = 0;
    unsigned spent = 0;
    unsigned last;
    portions_begin(&portions, PORTIONS_FIRST);
    do {
        last = visit_all(&portions, 1, MANY);
        spent += last;
        rounds++;
    } while (portions_next(&portions));
    assert_int_equal(last, MANY);
    assert_in_range(rounds, 2, 4);
    assert_in_range(spent, MANY, 2 * MANY);
    portions_begin(&portions, PORTIONS_FIRST); /* as if nothing had been spent */
    assert_int_equal(visit_all(&portions, 1, 10), 10);
    assert_false(portions_next(&portions));
    portions_end(&portions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_few_is_served_in_the_first_round),
        cmocka_unit_test(rounds_end_once_all_was_looked_into),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
