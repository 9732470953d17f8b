/* SPDX-License-Identifier: Apache-2.0 */
/* Hints between the watcher's thread and the engine's. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/watch/watch_hints.h"

static int open_hints(void **state)
{
    struct watch_hints *hints = calloc(1, sizeof *hints);
    if (hints) {
        watch_hints_init(hints);
    }
    *state = hints;
    return hints ? 0 : -1;
}

static int close_hints(void **state)
{
    watch_hints_fini(*state);
    free(*state);
    return 0;
}

static bool add(struct watch_hints *hints, struct watch_mark *mark, enum watch_what what,
                const char *file)
{
    struct watch_news news = {7, what, file, "session", TOLD_NOTHING, 1000};
    return watch_hints_add(hints, mark, &news);
}

static void what_happens_in_one_directory_is_one_hint(void **state)
{
    static const struct {
        enum watch_what what[2];
        const char *file[2];
        enum watch_what want;
        const char *want_file;
    } row[] = {
        {{HINT_GREW, HINT_GREW}, {"a", "a"}, HINT_GREW, "a"},
        {{HINT_GREW, HINT_GREW}, {"a", "b"}, HINT_GREW, ""},
        {{HINT_GREW, HINT_GREW}, {LAYOUT_LOCK, "a"}, HINT_GREW, "a"},
        {{HINT_GREW, HINT_GREW}, {"a", LAYOUT_LOCK}, HINT_GREW, "a"},
        {{HINT_GREW, HINT_GREW}, {LAYOUT_LOCK, LAYOUT_LOCK}, HINT_GREW, LAYOUT_LOCK},
        {{HINT_GREW, HINT_CHANGED}, {LAYOUT_LOCK, ""}, HINT_CHANGED, ""},
        {{HINT_GREW, HINT_CHANGED}, {"a", ""}, HINT_CHANGED, ""},
        {{HINT_CHANGED, HINT_GREW}, {"", "a"}, HINT_CHANGED, ""},
        {{HINT_UNWATCHED, HINT_CHANGED}, {"", ""}, HINT_UNWATCHED, ""},
    };
    struct watch_mark mark = {0};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const struct watch_hint *hint;
        (void)add(*state, &mark, row[i].what[0], row[i].file[0]);
        (void)add(*state, &mark, row[i].what[1], row[i].file[1]);
        assert_int_equal(watch_hints_take(*state, &hint), 1);
        assert_int_equal(hint->root, 7);
        assert_string_equal(hint->session, "session");
        assert_int_equal(hint->what, row[i].want);
        assert_string_equal(hint->file, row[i].want_file);
    }
}

static void hints_that_were_taken_are_not_joined(void **state)
{
    struct watch_mark mark = {0};
    const struct watch_hint *first;
    const struct watch_hint *second;
    (void)add(*state, &mark, HINT_GREW, "a");
    assert_int_equal(watch_hints_take(*state, &first), 1);
    (void)add(*state, &mark, HINT_CHANGED, "");
    assert_int_equal(first->what, HINT_GREW); /* still being worked through */
    assert_int_equal(watch_hints_take(*state, &second), 1);
    assert_int_equal(second->what, HINT_CHANGED);
    assert_int_equal(watch_hints_take(*state, &first), 0);
}

static void what_is_not_watched_is_never_joined(void **state)
{
    const struct watch_hint *hint;
    (void)add(*state, NULL, HINT_CHANGED, "");
    (void)add(*state, NULL, HINT_CHANGED, "");
    assert_int_equal(watch_hints_take(*state, &hint), 2);
}

static void hints_of_one_owner_leave_room_for_those_of_others(void **state)
{
    const struct watch_hint *hint;
    size_t of_one = 0;
    struct watch_mark mark = {0};
    while (add(*state, of_one ? NULL : &mark, HINT_GREW, "")) {
        of_one++;
    }
    assert_true(of_one > WATCH_HINTS_MAX / 2 && of_one < WATCH_HINTS_MAX);
    assert_true(add(*state, &mark, HINT_CHANGED, "")); /* joined */
    for (uint32_t owner = 2000; owner < 2100; owner++) {
        struct watch_news news = {7, HINT_GREW, "", "session", TOLD_NOTHING, owner};
        assert_true(watch_hints_add(*state, NULL, &news));
    }
    assert_false(watch_hints_overflowed(*state));
    assert_int_equal(watch_hints_take(*state, &hint), of_one + 100);
    assert_true(add(*state, NULL, HINT_CHANGED, "")); /* in the next round */
}

static void lost_events_are_reported_once(void **state)
{
    assert_false(watch_hints_overflowed(*state));
    watch_hints_set_overflowed(*state);
    assert_true(watch_hints_overflowed(*state));
    assert_false(watch_hints_overflowed(*state));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_happens_in_one_directory_is_one_hint,
                                        open_hints, close_hints),
        cmocka_unit_test_setup_teardown(hints_that_were_taken_are_not_joined, open_hints,
                                        close_hints),
        cmocka_unit_test_setup_teardown(what_is_not_watched_is_never_joined, open_hints,
                                        close_hints),
        cmocka_unit_test_setup_teardown(hints_of_one_owner_leave_room_for_those_of_others,
                                        open_hints, close_hints),
        cmocka_unit_test_setup_teardown(lost_events_are_reported_once, open_hints,
                                        close_hints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
