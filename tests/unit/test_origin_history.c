/* SPDX-License-Identifier: Apache-2.0 */
/* What a journal knows of the backends that it was kept for. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>

#include "upload/journal/origin_history.h"

static const unsigned char key[JOURNAL_KEY_HASH] = "key";

static struct record_origin record_of(const struct origin_history *history,
                                      const char *url)
{
    static const unsigned char salt[JOURNAL_SALT] = "salt";
    struct record_origin record = {0};
    snprintf(record.url, sizeof record.url, "%s", url);
    origin_history_name(history, &record, key, salt);
    return record;
}

static void move_to(struct origin_history *history, const char *url)
{
    struct record_origin record = record_of(history, url);
    record.again = history->now.url[0] != '\0';
    record.moved = record.again;
    origin_history_note(history, &record);
}

static void names_of_the_present_one_are_the_same(void **state)
{
    (void)state;
    struct origin_history history = {0};
    move_to(&history, "a");
    struct record_origin other_name = record_of(&history, "b");
    other_name.same = 1;
    origin_history_note(&history, &other_name);
    assert_int_equal(origin_history_match(&history, "b", key), ORIGIN_MATCHES);
    assert_int_equal(origin_history_match(&history, "a", key), ORIGIN_OTHER_URL);
    assert_false(origin_history_was_left(&history, "a", key));
    move_to(&history, "c");
    assert_true(origin_history_was_left(&history, "a", key));
    assert_true(origin_history_was_left(&history, "b", key));
    assert_false(origin_history_was_left(&history, "d", key));
    origin_history_fini(&history);
}

static void a_journal_that_was_moved_by_a_version_that_forgot_is_in_doubt(void **state)
{
    (void)state;
    struct origin_history history = {0};
    struct record_origin record = record_of(&history, "b");
    record.moved = 1;
    origin_history_note(&history, &record);
    assert_true(origin_history_was_left(&history, "a", key));
    move_to(&history, "c");
    assert_true(origin_history_was_left(&history, "a", key));
    origin_history_fini(&history);
}

static void more_than_are_remembered_are_in_doubt(void **state)
{
    (void)state;
    struct origin_history history = {0};
    char url[16];
    for (unsigned i = 0; i < ORIGIN_HISTORY_MAX; i++) {
        assert_false(origin_history_was_left(&history, "another", key));
        snprintf(url, sizeof url, "%u", i);
        move_to(&history, url);
    }
    move_to(&history, "one more");
    assert_int_equal(history.count, ORIGIN_HISTORY_MAX);
    assert_true(origin_history_was_left(&history, "another", key));
    origin_history_fini(&history);
}

static void one_that_comes_back_is_kept_once(void **state)
{
    (void)state;
    struct origin_history history = {0};
    for (int i = 0; i < 1000; i++) {
        move_to(&history, i % 2 ? "a" : "b");
    }
    assert_int_equal(history.count, 2);
    assert_false(origin_history_was_left(&history, "c", key));
    origin_history_fini(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_the_present_one_are_the_same),
        cmocka_unit_test(a_journal_that_was_moved_by_a_version_that_forgot_is_in_doubt),
        cmocka_unit_test(more_than_are_remembered_are_in_doubt),
        cmocka_unit_test(one_that_comes_back_is_kept_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
