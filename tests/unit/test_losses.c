/* SPDX-License-Identifier: Apache-2.0 */
/* Losses as they stand in the closing record. */
#include <string.h>

#include "collector-lib/writer/losses_text.h"

#include "tests/support/check.h"

static void raise_by(struct losses *losses, const char *line)
{
    losses_raise(losses, line, strlen(line));
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    struct losses written = {.count = {0}};
    struct losses read = {.count = {0}};
    struct text line = {0};
    for (int kind = 0; kind < LOSS_KINDS; kind++) {
        written.count[kind] = (uint64_t)kind + 1;
    }
    text_puts(&line, "{\"type\":\"capture_capabilities\",\"losses\":");
    losses_json(&written, &line);
    text_puts(&line, "}");
    losses_raise(&read, line.data, line.len);
    assert_memory_equal(read.count, written.count, sizeof read.count);
    text_fini(&line);
}

static void the_most_that_is_told_counts(void **state)
{
    (void)state;
    struct losses losses = {.count = {0}};
    raise_by(&losses, "{\"losses\":{\"scopes\":7,\"lines\":3}}");
    raise_by(&losses, "{\"losses\":{\"scopes\":2,\"lines\":4,\"of_later_versions\":9}}");
    assert_int_equal(losses.count[LOSS_SCOPES], 7);
    assert_int_equal(losses.count[LOSS_LINES], 4);
}

static void what_is_no_count_tells_nothing(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        "{}",
        "{\"losses\":1}",
        "{\"losses\":[]}",
        "{\"losses\":{\"scopes\":-1}}",
        "{\"losses\":{\"scopes\":\"1\"}}",
        "{\"losses\":{\"scopes\":1,\"scopes\":1}}",
    };
    const struct losses none = {.count = {0}};
    struct losses losses = none;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        raise_by(&losses, lines[i]);
        assert_memory_equal(&losses, &none, sizeof none);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(the_most_that_is_told_counts),
        cmocka_unit_test(what_is_no_count_tells_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
