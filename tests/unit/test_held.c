/* SPDX-License-Identifier: Apache-2.0 */
/* The reasons for holds, as they are told and as they are read back. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>

#include "upload/core/held.h"

static void each_reason_is_known_by_its_text(void **state)
{
    (void)state;
    for (int i = 0; i < HELD_REASONS_COUNT; i++) {
        const char *text = held_text((enum held_reason)i);
        assert_int_equal(held_by_text(text), i);
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(text, held_text((enum held_reason)k));
            assert_string_not_equal(held_key((enum held_reason)i),
                                    held_key((enum held_reason)k));
        }
    }
}

/* A longer one would be cut off in the progress file, and be no reason any more. */
static void each_text_has_room_where_it_is_published(void **state)
{
    (void)state;
    for (int i = 0; i < HELD_REASONS_COUNT; i++) {
        assert_true(strlen(held_text((enum held_reason)i)) <= 120);
    }
}

static void a_text_that_names_a_file_is_known(void **state)
{
    (void)state;
    char text[HELD_TEXT_MAX];
    for (int i = HELD_NOT + 1; i < HELD_REASONS_COUNT; i++) {
        snprintf(text, sizeof text, "%s (device.1.log: Permission denied)",
                 held_text((enum held_reason)i));
        assert_int_equal(held_by_text(text), i);
    }
}

static void a_text_of_another_version_is_no_reason(void **state)
{
    (void)state;
    assert_int_equal(held_by_text("it is said in other words"), HELD_NOT);
}

/* A session may be held for one reason at the beginning of each inspection, and for
 * another one at its end. */
static void reasons_that_take_turns_are_said_once(void **state)
{
    (void)state;
    uint64_t said = 0;
    enum held_reason last = HELD_NOT;
    for (int i = 0; i < 6; i++) {
        enum held_reason reason = i % 2 ? HELD_REFUSED : HELD_MISSING;
        assert_int_equal(held_was_said(said, last, reason), i >= 2);
        said = held_say(said, last, reason);
        last = reason;
    }
    assert_false(held_was_said(said, last, HELD_CUT));
    assert_false(held_was_said(said, HELD_NOT, HELD_MISSING)); /* it went on */
    assert_true(held_was_said(0, HELD_CUT, HELD_CUT)); /* as after it was parked */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reason_is_known_by_its_text),
        cmocka_unit_test(each_text_has_room_where_it_is_published),
        cmocka_unit_test(a_text_that_names_a_file_is_known),
        cmocka_unit_test(a_text_of_another_version_is_no_reason),
        cmocka_unit_test(reasons_that_take_turns_are_said_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
