/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that fit a multiprocessor, as NVIDIA's calculator has them. */
#include "tests/support/check.h"

#include "collector-lib/trace/occupancy.h"

static const struct trace_device h100 = {.threads_per_warp = 32,
                                         .warps_per_sm = 64,
                                         .blocks_per_sm = 32,
                                         .registers_per_sm = 65536,
                                         .shared_per_sm_bytes = 233472,
                                         .compute_major = 9};
static const struct trace_device v100 = {.threads_per_warp = 32,
                                         .warps_per_sm = 64,
                                         .blocks_per_sm = 32,
                                         .registers_per_sm = 65536,
                                         .shared_per_sm_bytes = 98304,
                                         .compute_major = 7};

static void the_scarcest_resource_decides(void **state)
{
    (void)state;
    static const struct {
        const struct trace_device *device;
        int threads;
        uint32_t registers, static_shared, dynamic_shared;
        unsigned blocks; /* warps of these are resident */
        const char *limiting;
    } kernel[] = {
        {&h100, 128, 0, 0, 0, 16, "warps"},
        {&h100, 100, 0, 0, 0, 16, "warps"}, /* whole warps */
        {&h100, 32, 16, 0, 0, 32, "blocks"},
        {&h100, 128, 32, 0, 0, 16, "warps"},
        {&h100, 128, 33, 0, 0, 12, "registers"}, /* 40 are taken */
        {&h100, 128, 255, 0, 0, 2, "registers"},
        {&h100, 32, 192, 0, 0, 8, "registers"}, /* 2 warps a scheduler, not 10 in all */
        {&h100, 32, 0, 20000, 76, 11,
         "shared_mem"},                            /* 21,100 with the system's: 21,120 */
        {&h100, 32, 0, 0, 45666, 4, "shared_mem"}, /* 46,690: 46,720 */
        {&h100, 32, 0, 0, 232448, 1, "shared_mem"},
        {&v100, 32, 0, 19570, 0, 4, "shared_mem"}, /* 19,712 */
        {&v100, 32, 0, 98304, 0, 1, "shared_mem"}, /* without the system's */
    };
    for (size_t i = 0; i < sizeof kernel / sizeof kernel[0]; i++) {
        const struct trace_kernel k = {.block = {kernel[i].threads, 1, 1},
                                       .registers = kernel[i].registers,
                                       .static_shared_bytes = kernel[i].static_shared,
                                       .dynamic_shared_bytes = kernel[i].dynamic_shared};
        const struct occupancy o = occupancy_of(kernel[i].device, &k);
        const unsigned warps =
            kernel[i].blocks * (unsigned)((kernel[i].threads + 31) / 32);
        assert_int_equal(o.max_active_blocks, kernel[i].blocks);
        assert_string_equal(o.limiting, kernel[i].limiting);
        assert_true(o.all == warps / 64.0);
    }
}

static void each_resource_has_its_own_share(void **state)
{
    (void)state;
    const struct trace_kernel k = {.block = {16, 2, 2}, /* two warps */
                                   .registers = 64,
                                   .dynamic_shared_bytes = 45666};
    const struct occupancy o = occupancy_of(&h100, &k);
    assert_true(o.warps == 1.0);
    assert_true(o.registers == 0.5);
    assert_true(o.shared == 4 * 2 / 64.0);
    assert_true(o.blocks == 1.0);
    assert_true(o.all == o.shared);
}

static void nothing_is_told_of_an_unknown_device(void **state)
{
    (void)state;
    const struct trace_kernel k = {.block = {128, 1, 1}};
    const struct trace_device unknown = {.warps_per_sm = 64};
    assert_true(occupancy_of(NULL, &k).all == 0);
    assert_string_equal(occupancy_of(&unknown, &k).limiting, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scarcest_resource_decides),
        cmocka_unit_test(each_resource_has_its_own_share),
        cmocka_unit_test(nothing_is_told_of_an_unknown_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
