/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's --help. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/options/option_find.h"
#include "agent/options/option_help.h"

static char *help_text(void)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    option_help_print(out);
    fclose(out);
    return text;
}

static void it_lists_what_is_built_and_nothing_else(void **state)
{
    (void)state;
    char *text = help_text();
    for (size_t i = 0; i < option_rows_count; i++) {
        const struct option_row *row = &option_rows[i];
        char flag[80];
        snprintf(flag, sizeof flag, "--%s%s", row->flag,
                 row->kind == KIND_SWITCH ? "\n" : "=");
        assert_int_equal(strstr(text, flag) != NULL, option_is_built(row));
        if (row->env && option_is_built(row)) {
            assert_non_null(strstr(text, row->env));
        }
    }
    free(text);
}

static void values_defaults_and_ranges_come_from_the_table(void **state)
{
    (void)state;
    char *text = help_text();
    assert_non_null(strstr(text, "  --compression=auto|zstd|gzip|none\n"));
    assert_non_null(strstr(text, "  -h, --help\n"));
    assert_non_null(strstr(text, "  --zstd-level=NUMBER\n      zstd compression level "
                                 "(default: 1, range 1 to 19)\n"));
    assert_non_null(strstr(text, "  --flush-interval=DURATION\n"));
    assert_non_null(strstr(text, "(default: 500ms)"));
    free(text);
}

static void lines_fit_a_terminal(void **state)
{
    (void)state;
    char *text = help_text();
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        assert_in_range(len, 0, 88);
        line += len + (line[len] == '\n');
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_lists_what_is_built_and_nothing_else),
        cmocka_unit_test(values_defaults_and_ranges_come_from_the_table),
        cmocka_unit_test(lines_fit_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
