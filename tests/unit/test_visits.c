/* SPDX-License-Identifier: Apache-2.0 */
/* In which order directories of several owners are inspected, and how long one waits that
 * has many names in them. */
#include "tests/support/check.h"

#include <stdlib.h>

#include "tests/support/pick.h"
#include "upload/owners/visits.h"

#define MANY     (VISITS_STEP_NAMES + 1)
#define USERS    4000u
#define OF_FIRST 500u

struct place {
    struct visits_node node;
    unsigned number;
};

static unsigned take(struct visit_queue *visits, uint64_t now_ms)
{
    const struct place *place = (struct place *)visits_take(visits, now_ms);
    return place ? place->number : 0;
}

static void push(struct visit_queue *visits, uint32_t owner, struct place *place,
                 unsigned names)
{
    place->node.names = names;
    visits_push(visits, owner, &place->node, 0);
}

static void owners_take_turns_whatever_they_have(void **state)
{
    (void)state;
    struct visit_queue visits = {0};
    struct place place[8];
    for (unsigned i = 0; i < 8; i++) {
        place[i] = (struct place){.number = i + 1};
        push(&visits, i < 6 ? 1000 : 1001, &place[i], i % 2 ? MANY : 1);
    }
    const unsigned order[] = {1, 7, 2, 8, 3, 4, 5, 6, 0};
    for (unsigned i = 0; i < 9; i++) {
        assert_int_equal(take(&visits, 0), order[i]);
    }
    assert_int_equal(visits_ready_ms(&visits), UINT64_MAX);
}

/* The first of thousands has very many. */
static void thousands_of_owners_have_a_turn_each(void **state)
{
    (void)state;
    static struct visit_queue visits;
    static struct place place[USERS + OF_FIRST];
    for (unsigned i = 0; i < USERS + OF_FIRST; i++) {
        place[i] = (struct place){.number = i + 1};
        push(&visits, i < OF_FIRST ? 0 : 1000 + i, &place[i], 1);
    }
    assert_int_equal(take(&visits, 0), 1);
    for (unsigned i = 0; i < USERS; i++) {
        assert_int_equal(take(&visits, 0), OF_FIRST + i + 1);
    }
    assert_int_equal(take(&visits, 0), 2);
}

static void one_that_has_listed_many_names_waits_in_proportion(void **state)
{
    (void)state;
    struct visit_queue visits = {0};
    struct place many = {.number = 1};
    struct place few = {.number = 2};
    struct place others = {.number = 3};
    visits_charge(&visits, 1000, 3 * VISITS_NAMES_PER_S, 0);
    push(&visits, 1000, &many, MANY);
    push(&visits, 1000, &few, 1);
    push(&visits, 1001, &others, MANY);
    assert_int_equal(take(&visits, 0), 2);
    assert_int_equal(take(&visits, 0), 3);
    assert_int_equal(visits_ready_ms(&visits), 3000);
    assert_int_equal(take(&visits, 2999), 0);
    assert_int_equal(take(&visits, 3000), 1);
}

/* One that is begun goes on at once, and before the others of its owner. */
static void one_that_is_begun_goes_on(void **state)
{
    (void)state;
    struct visit_queue visits = {0};
    struct place first = {.number = 1};
    struct place second = {.number = 2};
    push(&visits, 1000, &first, MANY);
    push(&visits, 1000, &second, MANY);
    assert_int_equal(take(&visits, 0), 1);
    visits_charge(&visits, 1000, VISITS_NAMES_PER_S, 0);
    first.node.begun = true;
    push(&visits, 1000, &first, MANY);
    assert_int_equal(visits_ready_ms(&visits), 0);
    assert_int_equal(take(&visits, 0), 1);
    assert_int_equal(take(&visits, 0), 0);
    assert_int_equal(take(&visits, 1000), 2);
}

static void a_run_that_ends_lists_each_directory_once_without_delay(void **state)
{
    (void)state;
    struct visit_queue visits = {.ends = true};
    struct place place = {.number = 1};
    visits_charge(&visits, 1000, VISITS_NAMES_PER_S, 0);
    push(&visits, 1000, &place, MANY);
    assert_true(visits_any_new(&visits));
    assert_int_equal(take(&visits, 0), 1);
    place.node.known = true;
    push(&visits, 1000, &place, MANY);
    assert_false(visits_any_new(&visits));
    assert_int_equal(take(&visits, 0), 0);
    assert_int_equal(take(&visits, 1000), 1);
}

/* Whatever the others push and list, the one directory of an owner is taken after at most
 * one of each other owner; and none is taken twice or lost. */
static void a_place_is_taken_once_after_at_most_one_of_each_other(uint64_t seed)
{
    enum { PLACES = 400, OTHERS = 12 };
    static struct place place[PLACES];
    struct visit_queue visits = {0};
    bool in[PLACES] = {0};
    unsigned waited = 0;
    uint64_t now_ms = 0;
    pick_seed(seed);
    for (unsigned i = 0; i < PLACES; i++) {
        place[i] = (struct place){.number = i + 1};
    }
    for (unsigned step = 0; step < 4000; step++) {
        unsigned i = (unsigned)pick(PLACES);
        now_ms += pick(20);
        if (!in[i]) {
            in[i] = true;
            push(&visits, i ? 1 + i % OTHERS : 0, &place[i], i && pick(2) ? MANY : 1);
        }
        unsigned number = pick(2) ? take(&visits, now_ms) : 0;
        assert_true(!number || in[number - 1]);
        if (number) {
            in[number - 1] = false;
            waited = number == 1 ? 0 : waited + in[0];
            assert_in_range(waited, 0, OTHERS);
            visits_charge(&visits, 1 + number % OTHERS, (unsigned)pick(5000), now_ms);
        }
    }
    while (take(&visits, UINT64_MAX / 2)) {
        waited++;
    }
    assert_int_equal(visits_ready_ms(&visits), UINT64_MAX);
}

static void an_owner_with_one_directory_waits_for_one_of_each_other(void **state)
{
    (void)state;
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 1;
    for (uint64_t end = given ? seed + 1 : 51; seed < end; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        a_place_is_taken_once_after_at_most_one_of_each_other(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owners_take_turns_whatever_they_have),
        cmocka_unit_test(thousands_of_owners_have_a_turn_each),
        cmocka_unit_test(one_that_has_listed_many_names_waits_in_proportion),
        cmocka_unit_test(one_that_is_begun_goes_on),
        cmocka_unit_test(a_run_that_ends_lists_each_directory_once_without_delay),
        cmocka_unit_test(an_owner_with_one_directory_waits_for_one_of_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
