/* SPDX-License-Identifier: Apache-2.0 */
/* A stream is found by the number that it has now, among any number of others. */
#include "tests/support/check.h"

#include "upload/core/stream_numbers.h"

#define STREAMS 1000u

static struct root root;
static struct session session = {.root = &root};
static struct stream stream[STREAMS];

static void number_all(void)
{
    for (uint32_t i = 0; i < STREAMS; i++) {
        stream[i] = (struct stream){.session = &session};
        stream_set_number(&stream[i], i + 1);
    }
}

static void forget_all(void)
{
    for (uint32_t i = 0; i < STREAMS; i++) {
        stream_set_number(&stream[i], 0);
    }
    assert_int_equal(root.numbers.count, 0);
    stream_numbers_close(&root);
    root = (struct root){0};
}

static void each_is_found_by_its_number(void **state)
{
    (void)state;
    assert_null(stream_numbered(&root, 1));
    number_all();
    for (uint32_t i = 0; i < STREAMS; i++) {
        assert_ptr_equal(stream_numbered(&root, i + 1), &stream[i]);
    }
    assert_null(stream_numbered(&root, 0));
    assert_null(stream_numbered(&root, STREAMS + 1));
    forget_all();
}

static void with_another_number_it_is_found_by_that_one_only(void **state)
{
    (void)state;
    number_all();
    for (uint32_t i = 0; i < STREAMS; i += 2) {
        stream_set_number(&stream[i], i % 4 ? 0 : STREAMS + 1 + i);
    }
    for (uint32_t i = 0; i < STREAMS; i++) {
        assert_ptr_equal(stream_numbered(&root, i + 1), i % 2 ? &stream[i] : NULL);
        assert_ptr_equal(stream_numbered(&root, STREAMS + 1 + i),
                         i % 4 ? NULL : &stream[i]);
    }
    assert_int_equal(root.numbers.count, STREAMS / 2 + STREAMS / 4);
    forget_all();
}

/* As in a journal that is damaged. */
static void of_two_with_one_number_each_can_lose_it(void **state)
{
    (void)state;
    number_all();
    stream_set_number(&stream[0], 5);
    assert_ptr_equal(stream_numbered(&root, 5), &stream[0]);
    stream_set_number(&stream[0], 0);
    assert_ptr_equal(stream_numbered(&root, 5), &stream[4]);
    forget_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_found_by_its_number),
        cmocka_unit_test(with_another_number_it_is_found_by_that_one_only),
        cmocka_unit_test(of_two_with_one_number_each_can_lose_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
