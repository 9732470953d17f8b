/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of watched directories. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/watch/watch_places.h"

#define PLACES 3000 /* more than buckets */

static void insert(struct watch_places *places, unsigned root, const char *session,
                   int wd)
{
    struct watch_place *p = watch_place_make(root, "/root", session);
    assert_non_null(p);
    p->wd = wd;
    watch_places_insert(places, p);
}

static void places_are_found_by_name_and_descriptor(void **state)
{
    (void)state;
    struct watch_places *places = calloc(1, sizeof *places);
    char name[32];
    assert_non_null(places);
    for (int i = 0; i < PLACES; i++) {
        snprintf(name, sizeof name, "s%d", i);
        insert(places, 0, name, i);
    }
    insert(places, 1, "s1", PLACES);
    for (int i = 0; i < PLACES; i++) {
        snprintf(name, sizeof name, "s%d", i);
        struct watch_place *p = *watch_places_link(places, 0, name);
        assert_non_null(p);
        assert_string_equal(p->session, name);
        assert_ptr_equal(watch_places_by_wd(places, i), p);
    }
    assert_int_equal((*watch_places_link(places, 1, "s1"))->wd, PLACES);
    assert_null(*watch_places_link(places, 1, "s2"));
    assert_null(watch_places_by_wd(places, PLACES + 1));
    watch_places_free(places);
    free(places);
}

static void a_removed_place_is_in_neither_table(void **state)
{
    (void)state;
    struct watch_places *places = calloc(1, sizeof *places);
    assert_non_null(places);
    insert(places, 0, "a", 1);
    insert(places, 0, "b", 1 + WATCH_BUCKETS); /* in the same bucket */
    free(watch_places_remove(places, watch_places_link(places, 0, "a")));
    assert_null(*watch_places_link(places, 0, "a"));
    assert_null(watch_places_by_wd(places, 1));
    assert_string_equal(watch_places_by_wd(places, 1 + WATCH_BUCKETS)->session, "b");
    watch_places_free(places);
    free(places);
}

static int unwatched;

static void count_unwatched(void *arg, struct watch_place *place)
{
    (void)arg;
    unwatched += place->wd;
    free(place);
}

static void all_places_of_a_root_are_removed_and_no_other(void **state)
{
    (void)state;
    struct watch_places *places = calloc(1, sizeof *places);
    assert_non_null(places);
    insert(places, 0, "", 1);
    insert(places, 0, "a", 2);
    insert(places, 0, "b", 4);
    insert(places, 1, "a", 8);
    (void)watch_places_remove_below(places, 0, "", count_unwatched, NULL);
    assert_int_equal(unwatched, 1 + 2 + 4);
    assert_null(*watch_places_link(places, 0, "a"));
    assert_null(watch_places_by_wd(places, 4));
    assert_string_equal(watch_places_by_wd(places, 8)->session, "a");
    watch_places_free(places);
    free(places);
}

static void a_renamed_group_is_removed_with_all_below_it(void **state)
{
    (void)state;
    struct watch_places *places = calloc(1, sizeof *places);
    assert_non_null(places);
    insert(places, 0, "g", 1);
    insert(places, 0, "g/s", 2);
    insert(places, 0, "gs", 4);
    insert(places, 0, "s", 8);
    insert(places, 1, "g", 16);
    unwatched = 0;
    (void)watch_places_remove_below(places, 0, "g", count_unwatched, NULL);
    assert_int_equal(unwatched, 1 + 2);
    assert_null(*watch_places_link(places, 0, "g/s"));
    assert_non_null(*watch_places_link(places, 0, "gs"));
    assert_non_null(watch_places_by_wd(places, 16));
    watch_places_free(places);
    free(places);
}

static void for_a_name_without_places_few_are_looked_at(void **state)
{
    (void)state;
    struct watch_places *places = calloc(1, sizeof *places);
    char name[32];
    assert_non_null(places);
    for (int i = 0; i < PLACES; i++) {
        snprintf(name, sizeof name, i % 2 ? "s%d" : "g%d/s", i);
        insert(places, 0, name, i);
    }
    unwatched = 0;
    unsigned looked_at = 0;
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "unknown%d", i);
        looked_at += watch_places_remove_below(places, 0, name, count_unwatched, NULL);
    }
    assert_int_equal(unwatched, 0);
    assert_true(looked_at < 100 * 10);
    for (int i = 0; i < PLACES; i += 2) {
        snprintf(name, sizeof name, "g%d", i);
        (void)watch_places_remove_below(places, 0, name, count_unwatched, NULL);
        snprintf(name, sizeof name, "g%d/s", i);
        assert_null(*watch_places_link(places, 0, name));
    }
    watch_places_free(places);
    free(places);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_found_by_name_and_descriptor),
        cmocka_unit_test(a_removed_place_is_in_neither_table),
        cmocka_unit_test(all_places_of_a_root_are_removed_and_no_other),
        cmocka_unit_test(a_renamed_group_is_removed_with_all_below_it),
        cmocka_unit_test(for_a_name_without_places_few_are_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
