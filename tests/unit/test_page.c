/* SPDX-License-Identifier: Apache-2.0 */
/* Which file of the page a path names. */
#include "tests/support/check.h"

#include "backend/http/page.h"

static void a_path_names_a_file_or_none(void **state)
{
    (void)state;
    static const struct {
        const char *url, *type; /* NULL = no such file */
    } row[] = {
        {"/", "text/html; charset=utf-8"},
        {"/page/app.js", "text/javascript; charset=utf-8"},
        {"/page/dygraph.js", "text/javascript; charset=utf-8"},
        {"/page/style.css", "text/css; charset=utf-8"},
        {"", NULL},
        {"/page", NULL},
        {"/page/", NULL},
        {"/page/App.js", NULL},
        {"/page/app.js/", NULL},
        {"/page/../main.c", NULL},
        {"/app.js", NULL},
        {"//", NULL},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const struct page_file *file = page_find(row[i].url);
        if (!row[i].type) {
            assert_null(file);
            continue;
        }
        assert_non_null(file);
        assert_string_equal(file->type, row[i].type);
        assert_true(file->end > file->begin);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_names_a_file_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
