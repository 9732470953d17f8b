/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow: what was there stays, what is new is zero. */
#include "tests/support/check.h"

#include <stdlib.h>

#include "base/array.h"

static void an_index_is_reached_with_zeros_up_to_it(void **state)
{
    (void)state;
    size_t cap = 0;
    unsigned *array = array_reach(NULL, 0, &cap, sizeof *array);
    assert_non_null(array);
    array[0] = 7;
    array = array_reach(array, 1000, &cap, sizeof *array);
    assert_non_null(array);
    assert_true(cap > 1000);
    assert_int_equal(array[0], 7);
    for (size_t i = 1; i < cap; i++) {
        assert_int_equal(array[i], 0);
    }
    assert_ptr_equal(array_reach(array, cap - 1, &cap, sizeof *array), array);
    free(array);
}

static void an_index_that_no_memory_reaches_leaves_the_array_as_it_is(void **state)
{
    (void)state;
    size_t cap = 0;
    char *array = array_reach(NULL, 3, &cap, 1);
    size_t before = cap;
    assert_null(array_reach(array, SIZE_MAX, &cap, 1));
    assert_null(array_reach(array, SIZE_MAX / 4, &cap, 16));
    assert_int_equal(cap, before);
    free(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_is_reached_with_zeros_up_to_it),
        cmocka_unit_test(an_index_that_no_memory_reaches_leaves_the_array_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
