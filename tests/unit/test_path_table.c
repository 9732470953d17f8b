/* SPDX-License-Identifier: Apache-2.0 */
/* The table of things found by their path. */
#include "tests/support/check.h"

#include <stdio.h>

#include "upload/core/path_table.h"

#define NAMES      1000
#define NAME_BYTES 16

static void count_node(void *arg, struct path_node *node)
{
    (void)node;
    ++*(unsigned *)arg;
}

static void a_table_finds_what_is_in_it(void **state)
{
    (void)state;
    static char name[NAMES][NAME_BYTES];
    static struct path_node node[NAMES];
    struct path_table table = {0};
    unsigned count = 0;
    assert_null(path_table_find(&table, "0"));
    path_table_remove(&table, &node[0]); /* which is not in it */
    for (int i = 0; i < NAMES; i++) {
        snprintf(name[i], NAME_BYTES, "%d", i);
        node[i].path = name[i];
        assert_true(path_table_add(&table, &node[i]));
    }
    for (int i = 0; i < NAMES; i += 2) {
        path_table_remove(&table, &node[i]);
    }
    for (int i = 0; i < NAMES; i++) {
        assert_ptr_equal(path_table_find(&table, name[i]), i % 2 ? &node[i] : NULL);
    }
    path_table_each(&table, count_node, &count);
    assert_int_equal(count, NAMES / 2);
    assert_int_equal(table.count, NAMES / 2);
    path_table_close(&table);
    assert_null(path_table_find(&table, "1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_table_finds_what_is_in_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
