/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers found by a hash. */
#include "tests/support/check.h"

#include <stdio.h>

#include "base/hash.h"
#include "upload/journal/lookup.h"

#define NAMES 10000u

static uint32_t hash_of(uint32_t number)
{
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    return hash_text(7, name);
}

static void the_newest_element_of_a_hash_is_found_first(void **state)
{
    (void)state;
    struct lookup lookup = {0};
    assert_true(lookup_first(&lookup, 1) == LOOKUP_NONE);
    for (uint32_t i = 0; i < NAMES; i++) {
        assert_true(lookup_add(&lookup, i % 10));
    }
    for (uint32_t hash = 0; hash < 10; hash++) {
        size_t at = lookup_first(&lookup, hash);
        for (uint32_t want = NAMES - 10 + hash; want >= 10; want -= 10) {
            assert_int_equal(at, want);
            at = lookup_next(&lookup, at);
        }
        assert_int_equal(at, hash);
        assert_true(lookup_next(&lookup, at) == LOOKUP_NONE);
    }
    assert_true(lookup_first(&lookup, 10) == LOOKUP_NONE);
    lookup_close(&lookup);
    assert_true(lookup_first(&lookup, 1) == LOOKUP_NONE);
}

/* \return how many elements are looked at to find number \p at. */
static unsigned steps_to(const struct lookup *lookup, uint32_t at)
{
    uint32_t next = lookup->bucket[lookup->link[at].hash & (lookup->buckets - 1)];
    unsigned steps = 1;
    while (next != at + 1) {
        next = lookup->link[next - 1].next;
        steps++;
    }
    return steps;
}

static void few_elements_are_looked_at_however_many_there_are(void **state)
{
    (void)state;
    struct lookup lookup = {0};
    unsigned steps = 0;
    for (uint32_t i = 0; i < NAMES; i++) {
        assert_true(lookup_add(&lookup, hash_of(i)));
    }
    for (uint32_t i = 0; i < NAMES; i++) {
        steps += steps_to(&lookup, i);
    }
    assert_true(steps < 2 * NAMES);
    lookup_close(&lookup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_element_of_a_hash_is_found_first),
        cmocka_unit_test(few_elements_are_looked_at_however_many_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
