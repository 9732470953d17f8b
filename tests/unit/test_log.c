/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines: one line each, and nothing else changes. */
#include "tests/support/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

static char last[200];

static void keep(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    (void)level;
    snprintf(last, sizeof last, "%s", line);
    errno = ENOTTY; /* as a write to a stream may leave it */
}

/* Its reason is in the line, and in the message of the caller behind it. */
static void a_line_leaves_errno_as_it_was(void **state)
{
    (void)state;
    const struct log log = {.level = LOG_AT_WARN, .write = keep};
    errno = ENOSPC;
    log_warn(&log, "journal.failed", "reason=\"%s\"", strerror(errno));
    assert_int_equal(errno, ENOSPC);
    assert_string_equal(last, "warn journal.failed reason=\"No space left on device\"");
}

static void a_line_stays_one(void **state)
{
    (void)state;
    const struct log log = {.level = LOG_AT_WARN, .write = keep};
    log_warn(&log, "x", "name=%s", "a\nb\033[2J\177");
    assert_string_equal(last, "warn x name=a?b?[2J?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_leaves_errno_as_it_was),
        cmocka_unit_test(a_line_stays_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
