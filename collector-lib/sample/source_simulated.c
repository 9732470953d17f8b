/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated GPUs for demos and tests; name, uuid and vendor say so. */
#include "collector-lib/sample/source_simulated.h"

#include <stdio.h>
#include <stdlib.h>

#define SIMULATED_MAX 16
#define TOTAL_MIB     81920

struct gpu_handle {
    unsigned count;
    unsigned tick[SIMULATED_MAX];
};

static struct gpu_handle *open_simulated(const struct gpu_wish *wish)
{
    if (wish->simulated <= 0) {
        return NULL;
    }
    struct gpu_handle *handle = calloc(1, sizeof *handle);
    if (handle) {
        handle->count =
            wish->simulated < SIMULATED_MAX ? (unsigned)wish->simulated : SIMULATED_MAX;
    }
    return handle;
}

static unsigned count_simulated(const struct gpu_handle *handle)
{
    return handle->count;
}

static void info_simulated(struct gpu_handle *handle, unsigned at, struct gpu_info *out)
{
    (void)handle;
    *out = (struct gpu_info){.vendor = "SIMULATED",
                             .pci_bus = (int)at + 1,
                             .parent = -1,
                             .multi_processors = GPU_NOT_AVAILABLE,
                             .warp_size = GPU_NOT_AVAILABLE};
    snprintf(out->name, sizeof out->name, "Simulated GPU %u", at);
    snprintf(out->uuid, sizeof out->uuid, "SIMULATED-00000000-0000-0000-0000-%012u", at);
}

/* The load: a triangle from 0 to 100 and back in 64 samples. */
static int64_t triangle(unsigned tick)
{
    unsigned phase = tick % 64;
    return phase < 32 ? phase * 100 / 31 : (63 - phase) * 100 / 31;
}

static void sample_simulated(struct gpu_handle *handle, unsigned at,
                             struct gpu_sample *out)
{
    int64_t load = triangle(handle->tick[at]++ + at * 16);
    *out = (struct gpu_sample){
        .gpu_util_pct = load,
        .mem_util_pct = load / 2,
        .temp_c = 35 + load * 30 / 100,
        .power_mw = 80000 + load * 5200,
        .used_mib = 2048 + load * 600,
        .free_mib = TOTAL_MIB - 2048 - load * 600,
        .total_mib = TOTAL_MIB,
        .clock_gfx_mhz = 1200 + load * 7,
        .clock_sm_mhz = 1200 + load * 7,
        .clock_mem_mhz = 2600,
        .fan_pct = GPU_NOT_AVAILABLE,
        .temp_mem_c = GPU_NOT_AVAILABLE,
        .temp_junction_c = GPU_NOT_AVAILABLE,
        .voltage_mv = GPU_NOT_AVAILABLE,
        .energy_uj = GPU_NOT_AVAILABLE,
        .pcie_rx_bps = GPU_NOT_AVAILABLE,
        .pcie_tx_bps = GPU_NOT_AVAILABLE,
        .ecc_corrected = GPU_NOT_AVAILABLE,
        .ecc_uncorrected = GPU_NOT_AVAILABLE,
        .throttle_reasons = GPU_NOT_AVAILABLE,
        .own_used_mib = GPU_NOT_AVAILABLE,
        .own_util_pct = GPU_NOT_AVAILABLE,
        .nvlink_rx_bytes = GPU_NOT_AVAILABLE,
        .nvlink_tx_bytes = GPU_NOT_AVAILABLE,
        .xid_count = GPU_NOT_AVAILABLE,
        .last_xid = GPU_NOT_AVAILABLE,
    };
}

static void close_simulated(struct gpu_handle *handle)
{
    free(handle);
}

const struct gpu_source gpu_source_simulated = {
    .name = "simulated",
    .kind = GPUFL_BACKEND_AUTO,
    .open = open_simulated,
    .count = count_simulated,
    .info = info_simulated,
    .sample = sample_simulated,
    .close = close_simulated,
};
