/* SPDX-License-Identifier: Apache-2.0 */
/* Launches share a kernel_detail if all is alike that a detail, or its use, tells. */
#include "tests/support/check.h"

#include "collector-lib/trace/kernel_configs.h"

struct told {
    struct trace_kernel kernel;
    struct launch launch;
    uint32_t kernel_id;
};

static const struct told usual = {
    .kernel = {.correlation = 1,
               .device = 1,
               .grid = {4, 3, 2},
               .block = {128, 2, 1},
               .registers = 32,
               .static_shared_bytes = 1024,
               .dynamic_shared_bytes = 2048,
               .shared_executed_bytes = 32768,
               .local_thread_bytes = 16,
               .local_total_bytes = 1 << 20,
               .cache_requested = 1,
               .cache_executed = 2},
    .launch = {.path_id = 3, .stack_id = 5},
    .kernel_id = 7,
};

static bool needs_a_detail(struct kernel_configs *c, const struct told *told)
{
    bool is_new;
    kernel_configs_detail(c, &told->kernel, told->kernel_id, &told->launch, &is_new);
    return is_new;
}

static void what_differs_has_a_detail_of_its_own(void **state)
{
    (void)state;
    struct kernel_configs c = {0};
    assert_true(kernel_configs_init(&c));
    assert_true(needs_a_detail(&c, &usual));
#define DIFFERS(field)                                                                   \
    {                                                                                    \
        struct told other = usual;                                                       \
        other.field++;                                                                   \
        assert_true(needs_a_detail(&c, &other));                                         \
        assert_false(needs_a_detail(&c, &other));                                        \
    }
    DIFFERS(kernel_id)
    DIFFERS(launch.path_id)
    DIFFERS(launch.stack_id)
    DIFFERS(kernel.device)
    DIFFERS(kernel.grid[0])
    DIFFERS(kernel.grid[1])
    DIFFERS(kernel.grid[2])
    DIFFERS(kernel.block[0])
    DIFFERS(kernel.block[1])
    DIFFERS(kernel.block[2])
    DIFFERS(kernel.registers)
    DIFFERS(kernel.static_shared_bytes)
    DIFFERS(kernel.dynamic_shared_bytes)
    DIFFERS(kernel.shared_executed_bytes)
    DIFFERS(kernel.local_thread_bytes)
    DIFFERS(kernel.local_total_bytes)
    DIFFERS(kernel.cache_requested)
    DIFFERS(kernel.cache_executed)
#undef DIFFERS
    struct told more = usual;
    more.kernel.local_total_bytes += 1ull << 32;
    assert_true(needs_a_detail(&c, &more));
    kernel_configs_fini(&c);
}

static void launches_alike_share_the_first_ones(void **state)
{
    (void)state;
    struct kernel_configs c = {0};
    bool is_new;
    struct told other = usual;
    other.kernel.correlation = 99;
    other.kernel.start_ns = 5;
    other.kernel.stream = 8;
    other.launch.instance = 6;
    assert_true(kernel_configs_init(&c));
    assert_true(needs_a_detail(&c, &usual));
    assert_int_equal(
        kernel_configs_detail(&c, &other.kernel, other.kernel_id, &other.launch, &is_new),
        usual.kernel.correlation);
    assert_false(is_new);
    kernel_configs_forget(&c);
    assert_true(needs_a_detail(&c, &other));
    kernel_configs_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_differs_has_a_detail_of_its_own),
        cmocka_unit_test(launches_alike_share_the_first_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
