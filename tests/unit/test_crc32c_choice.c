/* SPDX-License-Identifier: Apache-2.0 */
/* Which way crc32c() takes; both ways are stand-ins here. */
#include "tests/support/check.h"

#include <stdint.h>

#include "base/crc32c.h"
#include "base/crc32c_processor.h"
#include "base/crc32c_slices.h"

enum { BY_PROCESSOR = 1, BY_TABLES = 2 };

static bool has_it;

bool crc32c_processor_has_it(void)
{
    return has_it;
}

uint32_t crc32c_processor(uint32_t crc, const void *data, size_t len)
{
    (void)data;
    return crc + (uint32_t)len + BY_PROCESSOR;
}

uint32_t crc32c_slices(uint32_t crc, const void *data, size_t len)
{
    (void)data;
    return crc + (uint32_t)len + BY_TABLES;
}

static void the_instruction_is_used_where_there_is_one(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        has_it = true;
        assert_int_equal(crc32c(100, "abc", 3), 103 + BY_PROCESSOR);
        has_it = false;
        assert_int_equal(crc32c(100, "abc", 3), 103 + BY_TABLES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_instruction_is_used_where_there_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
