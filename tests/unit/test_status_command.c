/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that `gpufl status` prints can be pasted. */
#include "tests/support/check.h"

#include <string.h>

#include "cli/transfer/status_command.h"

static void command_is(struct text got, const char *want)
{
    assert_string_equal(got.data, want);
    text_fini(&got);
}

static void words_are_quoted_for_a_shell(void **state)
{
    (void)state;
    const struct status_command at = {.directory = "/a b/it's", .state_dir = NULL};
    command_is(status_command_resolve(&at, "run/id", "device"),
               "gpufl resolve '/a b/it'\\''s' run/id/device");
    command_is(status_command_force(&at, "run/id"),
               "gpufl upload '/a b/it'\\''s' --force --session-id id");
}

static void each_command_is_about_the_journal_that_was_read(void **state)
{
    (void)state;
    const struct status_command at = {.directory = "/logs", .state_dir = "/my state"};
    command_is(status_command_resolve(&at, "id", "*"),
               "gpufl resolve /logs id --state-dir '/my state'");
    command_is(status_command_force(&at, "id"),
               "gpufl upload /logs --force --session-id id --state-dir '/my state'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_quoted_for_a_shell),
        cmocka_unit_test(each_command_is_about_the_journal_that_was_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
