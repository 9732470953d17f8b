/* SPDX-License-Identifier: Apache-2.0 */
/* The table of things found by their path. */
#include "tests/support/check.h"

#include <stdio.h>

#include "base/hash.h"
#include "upload/core/path_table.h"

#define NAMES      1000
#define NAME_BYTES 16
#define CHOSEN     512u

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

static void all_with_the_same_path_are_found(void **state)
{
    (void)state;
    static struct path_node node[NAMES];
    struct path_table table = {0};
    for (int i = 0; i < NAMES; i++) {
        node[i].path = i % 2 ? "same" : "other";
        assert_true(path_table_add(&table, &node[i]));
    }
    for (int i = 1; i < NAMES; i += 4) {
        path_table_remove(&table, &node[i]);
    }
    unsigned count = 0;
    struct path_node *n = path_table_find(&table, "same");
    for (; n; n = path_table_next(n)) {
        assert_string_equal(n->path, "same");
        count++;
    }
    assert_int_equal(count, NAMES / 4);
    path_table_close(&table);
}

/* Somebody who knows the hash chooses names for one bucket. */
static void chosen_names_are_spread_by_the_seed(void **state)
{
    (void)state;
    static char name[CHOSEN][NAME_BYTES];
    static struct path_node node[CHOSEN];
    struct path_table table = {.seed = 0x51ed270b};
    unsigned longest = 0;
    for (unsigned i = 0, n = 0; n < CHOSEN; i++) {
        snprintf(name[n], NAME_BYTES, "%u", i);
        n += hash_text(0, name[n]) % (2 * CHOSEN) == 0;
    }
    for (unsigned n = 0; n < CHOSEN; n++) {
        node[n].path = name[n];
        assert_true(path_table_add(&table, &node[n]));
    }
    for (unsigned i = 0; i < table.buckets; i++) {
        unsigned chain = 0;
        for (const struct path_node *n = table.bucket[i]; n; n = n->next) {
            chain++;
        }
        longest = chain > longest ? chain : longest;
    }
    assert_in_range(longest, 1, CHOSEN / 8);
    path_table_close(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_finds_what_is_in_it),
        cmocka_unit_test(all_with_the_same_path_are_found),
        cmocka_unit_test(chosen_names_are_spread_by_the_seed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
