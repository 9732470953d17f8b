/* SPDX-License-Identifier: Apache-2.0 */
/* In which order sessions of several users are compared. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/transfer/verify_order.h"

#define OWN  1u
#define MANY 200000u

/* As after a line `7777:100000:10000` of subuid(5). */
static struct subordinate_range order_range = {
    .first = 100000, .last = 109999, .owner = 7777};
static const struct owners order_owners = {.ranges = {&order_range, 1}};

struct order_session {
    uint32_t user;
    uint64_t bytes;
    uint64_t cost; /* what reading it takes */
};

/* \p expected: their places, one digit each. */
static void check_order(const struct order_session *of, size_t count,
                        const char *expected)
{
    struct selected session[10] = {0};
    struct selection sessions = {.session = session, .count = count};
    struct verify_order order;
    char got[11] = "";
    uint64_t cost = 0;
    for (size_t i = 0; i < count; i++) {
        session[i] = (struct selected){
            .user = of[i].user, .bytes = of[i].bytes, .own_user = of[i].user == OWN};
    }
    assert_true(verify_order_open(&sessions, &order_owners, &order));
    for (const struct selected *s; (s = verify_order_next(&order, cost));) {
        size_t at = (size_t)(s - session);
        cost = of[at].cost;
        snprintf(got + strlen(got), 2, "%zu", at);
    }
    verify_order_close(&order);
    assert_string_equal(got, expected);
}

static void sessions_of_one_user_come_as_they_are_listed(void **state)
{
    (void)state;
    static const struct order_session of[] = {
        {7, 900, 900}, {OWN, 1, 1}, {7, 1, 1}, {7, 50, 50}};
    check_order(of, 4, "023");
    check_order(of, 0, "");
}

/* Small files that hold much, as many as there are. */
static void who_has_little_does_not_wait_for_who_has_much(void **state)
{
    (void)state;
    static const struct order_session of[] = {{5, 10, 1000}, {5, 10, 1000}, {5, 10, 1000},
                                              {6, 20, 200},  {6, 20, 200},  {7, 30, 30}};
    check_order(of, 6, "035412");
}

static void a_large_session_waits_for_what_is_smaller_of_others(void **state)
{
    (void)state;
    static const struct order_session of[] = {
        {5, 5000, 100000}, {6, 20, 200}, {6, 20, 200}, {UINT32_MAX, 9000, 0}};
    check_order(of, 4, "1203");
}

static void who_has_many_ids_has_the_turns_of_one(void **state)
{
    (void)state;
    static const struct order_session of[] = {{100000, 10, 1000}, {100001, 10, 1000},
                                              {7777, 10, 1000},   {100002, 10, 1000},
                                              {6, 20, 200},       {6, 20, 200}};
    check_order(of, 6, "045123");
}

/* With each looked at for each turn, this takes minutes. */
static void of_many_owners_each_has_a_turn(void **state)
{
    (void)state;
    struct selection sessions = {.session = calloc(MANY, sizeof *sessions.session),
                                 .count = MANY};
    struct verify_order order;
    assert_non_null(sessions.session);
    for (size_t i = 0; i < MANY; i++) {
        /* of the first one less, and so on, in another order than their ids */
        sessions.session[i] =
            (struct selected){.user = 200000 + (uint32_t)(i * 7 % MANY), .bytes = i};
    }
    assert_true(verify_order_open(&sessions, &order_owners, &order));
    for (size_t i = 0; i < MANY; i++) {
        assert_ptr_equal(verify_order_next(&order, 1), &sessions.session[i]);
    }
    assert_null(verify_order_next(&order, 1));
    verify_order_close(&order);
    free(sessions.session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sessions_of_one_user_come_as_they_are_listed),
        cmocka_unit_test(who_has_little_does_not_wait_for_who_has_much),
        cmocka_unit_test(a_large_session_waits_for_what_is_smaller_of_others),
        cmocka_unit_test(who_has_many_ids_has_the_turns_of_one),
        cmocka_unit_test(of_many_owners_each_has_a_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
