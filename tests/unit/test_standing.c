/* SPDX-License-Identifier: Apache-2.0 */
/* Whose failures say nothing of the backend. */
#include "tests/support/check.h"

#include "upload/owners/standing.h"

#define ONE   1000u
#define OTHER 2000u

static struct standing standing;

static void failures_are_an_owner_s_own_if_another_succeeds_meanwhile(void **state)
{
    (void)state;
    standing = (struct standing){0};
    standing_ok(&standing, OTHER);
    assert_false(standing_failed(&standing, ONE, 0)); /* the first one */
    assert_false(standing_failed(&standing, ONE, 0)); /* nobody tried meanwhile */
    standing_ok(&standing, OTHER);
    assert_true(standing_failed(&standing, ONE, 1000));
    assert_true(standing_failed(&standing, ONE, 60999)); /* for a minute */
    assert_false(standing_failed(&standing, ONE, 61000));
    assert_false(standing_failed(&standing, OTHER, 1000)); /* its own first one */
}

static void an_owner_s_own_successes_prove_nothing(void **state)
{
    (void)state;
    standing = (struct standing){0};
    standing_ok(&standing, OTHER);
    for (unsigned i = 0; i < 3; i++) {
        assert_false(standing_failed(&standing, ONE, 0));
        standing_ok(&standing, ONE);
    }
    standing_ok(&standing, OTHER);
    standing_ok(&standing, ONE);
    assert_true(standing_failed(&standing, ONE, 0));
}

static void an_owner_is_untried_until_it_fails_after_the_last_success(void **state)
{
    (void)state;
    standing = (struct standing){0};
    assert_true(standing_is_untried(&standing, ONE));
    (void)standing_failed(&standing, ONE, 0);
    assert_false(standing_is_untried(&standing, ONE));
    assert_true(standing_is_untried(&standing, OTHER));
    standing_ok(&standing, OTHER);
    assert_true(standing_is_untried(&standing, ONE));
}

static void the_oldest_failure_makes_room(void **state)
{
    (void)state;
    standing = (struct standing){0};
    for (uint32_t owner = 1; owner <= 100000; owner++) {
        (void)standing_failed(&standing, owner, 0);
        assert_false(standing_is_untried(&standing, owner));
    }
    assert_true(standing_is_untried(&standing, 1)); /* forgotten */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_are_an_owner_s_own_if_another_succeeds_meanwhile),
        cmocka_unit_test(an_owner_s_own_successes_prove_nothing),
        cmocka_unit_test(an_owner_is_untried_until_it_fails_after_the_last_success),
        cmocka_unit_test(the_oldest_failure_makes_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
