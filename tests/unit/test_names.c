/* SPDX-License-Identifier: Apache-2.0 */
/* One id a text; beyond the bounds "(other)", counted. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector-lib/core/names.h"

static uint32_t intern(struct names *names, const char *text)
{
    size_t len;
    const char *stored;
    uint64_t hash = names_hash(text, SIZE_MAX, &len);
    uint32_t id = names_intern(names, text, hash, len, &stored);
    assert_non_null(stored);
    return id;
}

static void free_names(struct names *names)
{
    for (uint32_t i = 1; i <= names->count; i++) {
        free((char *)(uintptr_t)names->name[i]);
    }
    free(names);
}

static struct names *make_names(void)
{
    struct names *names = names_new();
    assert_non_null(names);
    return names;
}

static void equal_texts_share_an_id(void **state)
{
    (void)state;
    struct names *names = make_names();
    char copy[] = "step";
    assert_int_equal(intern(names, "step"), 1);
    assert_int_equal(intern(names, copy), 1);
    assert_int_equal(intern(names, ""), 2);
    assert_string_equal(names->name[1], "step");
    free_names(names);
}

static void too_many_names_become_other(void **state)
{
    (void)state;
    struct names *names = make_names();
    char text[32];
    for (unsigned i = 0; i < NAMES_MAX + 100; i++) {
        snprintf(text, sizeof text, "name %u", i);
        assert_true(intern(names, text) > 0);
    }
    assert_true(names->count <= NAMES_MAX);
    assert_int_equal(names->overflowed, 101);
    assert_string_equal(names->name[names->other_id], "(other)");
    assert_int_equal(intern(names, "name 5"), 6);
    free_names(names);
}

static void too_much_text_becomes_other(void **state)
{
    (void)state;
    struct names *names = make_names();
    char *text = malloc(1 << 20);
    for (int i = 0; i < 10; i++) {
        memset(text, 'a' + i, (1 << 20) - 1);
        text[(1 << 20) - 1] = '\0';
        intern(names, text);
    }
    assert_true(names->overflowed >= 1);
    free(text);
    free_names(names);
}

static void only_so_many_bytes_tell_names_apart(void **state)
{
    (void)state;
    struct names *names = make_names();
    const char *stored;
    size_t len;
    uint64_t hash = names_hash("abcd", 3, &len);
    assert_int_equal(len, 3);
    uint32_t id = names_intern(names, "abcd", hash, len, &stored);
    assert_string_equal(stored, "abc");
    assert_int_equal(names_intern(names, "abce", hash, len, &stored), id);
    assert_int_equal(intern(names, "abc"), id);
    assert_int_not_equal(intern(names, "abcd"), id);
    assert_int_not_equal(intern(names, "ab"), id);
    assert_int_equal(names->overflowed, 0);
    free_names(names);
}

static void only_a_new_name_takes_the_lock(void **state)
{
    (void)state;
    struct names *names = make_names();
    char text[32];
    for (unsigned i = 0; i < NAMES_MAX; i++) {
        snprintf(text, sizeof text, "name %u", i);
        intern(names, text);
    }
    assert_int_equal(pthread_mutex_lock(&names->lock), 0);
    assert_int_equal(intern(names, "name 5"), 6);
    assert_int_equal(intern(names, "one too many"), names->other_id);
    assert_int_equal(names->overflowed, 2);
    assert_int_equal(pthread_mutex_unlock(&names->lock), 0); /* it is still ours */
    free_names(names);
}

/* As in a signal handler that interrupts the one who has the lock. */
static void within_itself_a_new_name_is_refused(void **state)
{
    (void)state;
    struct names *names = make_names();
    size_t len;
    const char *stored;
    uint64_t hash = names_hash("new", SIZE_MAX, &len);
    uint32_t known = intern(names, "known");
    pthread_mutex_lock(&names->lock);
    assert_int_equal(names_intern(names, "new", hash, len, &stored), 0);
    assert_int_equal(intern(names, "known"), known);
    pthread_mutex_unlock(&names->lock);
    assert_int_not_equal(intern(names, "new"), 0);
    free_names(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_share_an_id),
        cmocka_unit_test(too_many_names_become_other),
        cmocka_unit_test(only_a_new_name_takes_the_lock),
        cmocka_unit_test(within_itself_a_new_name_is_refused),
        cmocka_unit_test(too_much_text_becomes_other),
        cmocka_unit_test(only_so_many_bytes_tell_names_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
