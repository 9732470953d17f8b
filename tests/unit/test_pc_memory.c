/* SPDX-License-Identifier: Apache-2.0 */
/* How much the buffer of samples may take of what is free. */
#include "tests/support/check.h"

#include <stdint.h>
#include <stdio.h>

#include "collector-lib/cupti/pc_memory.h"
#include "tests/support/dirs.h"

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

static void the_lesser_of_both_counts(void **state)
{
    (void)state;
    assert_int_equal(pc_memory_share(80 * GIB, 100 * GIB, 64 * MIB), 64 * MIB);
    assert_int_equal(pc_memory_share(1 * GIB, 100 * GIB, 64 * MIB), 32 * MIB);
    assert_int_equal(pc_memory_share(80 * GIB, 1 * GIB, 64 * MIB), 32 * MIB);
    assert_int_equal(pc_memory_share(80 * GIB, SIZE_MAX, 1024 * MIB), 1024 * MIB);
}

static void what_is_too_little_to_sample_is_not_taken(void **state)
{
    (void)state;
    assert_int_equal(pc_memory_share(512 * MIB, 100 * GIB, 64 * MIB), 16 * MIB);
    assert_int_equal(pc_memory_share(512 * MIB - 1, 100 * GIB, 64 * MIB), 0);
    assert_int_equal(pc_memory_share(80 * GIB, 512 * MIB - 1, 64 * MIB), 0);
    assert_int_equal(pc_memory_share(0, 0, 64 * MIB), 0);
}

static size_t host_free(const char *meminfo)
{
    char path[4096];
    char *dir = dirs_make();
    dirs_append(dir, "meminfo", meminfo);
    snprintf(path, sizeof path, "%s/meminfo", dir);
    size_t bytes = pc_memory_host_free(path);
    dirs_remove(dir);
    return bytes;
}

static void the_kernel_says_what_is_available(void **state)
{
    (void)state;
    assert_int_equal(host_free("MemTotal:       131870576 kB\n"
                               "MemFree:          123456 kB\n"
                               "MemAvailable:    2097152 kB\n"
                               "Buffers:            4711 kB\n"),
                     2 * GIB);
    assert_int_equal(host_free("MemTotal: 131870576 kB\n"), SIZE_MAX);
    assert_int_equal(pc_memory_host_free("/nonexistent"), SIZE_MAX);
    assert_true(pc_memory_host_free("/proc/meminfo") < SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lesser_of_both_counts),
        cmocka_unit_test(what_is_too_little_to_sample_is_not_taken),
        cmocka_unit_test(the_kernel_says_what_is_available),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
