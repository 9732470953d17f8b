/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA devices by NVML. A call that fails, or that an older driver lacks, leaves the
 * figure at GPU_NOT_AVAILABLE. NVML has no voltage.
 *
 * Measured on an H200, driver 580: most calls take 10 µs, but the PCIe throughput query
 * blocks for 21 ms a direction and the energy counter spins for 3.2 ms, which at 20 ms a
 * sample was 17 % of a core. So those two have a thread and a slow beat of their own. */
#include "collector-lib/sample/source_nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector-lib/sample/nvml_api.h"
#include "collector-lib/sample/nvml_details.h"
#include "collector-lib/sample/slow_query.h"

#define NVIDIA_WARP 32 /* on all that there are */

struct gpu_handle {
    void *library;
    struct nvml api;
    unsigned count;
    nvml_device device[GPU_MAX];
    int parent[GPU_MAX];          /* of a MIG device; -1 of a whole one */
    struct nvml_details *details; /* NULL when they are not wanted */
    struct slow_query *slow;
};

static void add_device(struct gpu_handle *handle, nvml_device device, int parent)
{
    if (handle->count < GPU_MAX) {
        handle->parent[handle->count] = parent;
        handle->device[handle->count++] = device;
    }
}

static void find_devices(struct gpu_handle *handle)
{
    unsigned count = 0;
    if (handle->api.count(&count) != NVML_SUCCESS) {
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        nvml_device device;
        if (handle->api.by_index(i, &device) == NVML_SUCCESS) {
            add_device(handle, device, -1);
        }
    }
}

/* Adds MIG devices behind all whole ones, so that the numbers of those do not change. */
static void find_mig_devices(struct gpu_handle *handle)
{
    const struct nvml *api = &handle->api;
    unsigned whole = handle->count;
    for (unsigned i = 0;
         i < whole && api->mig_mode && api->mig_count && api->mig_by_index; i++) {
        unsigned mode = 0, pending, most = 0;
        if (api->mig_mode(handle->device[i], &mode, &pending) != NVML_SUCCESS ||
            mode != NVML_MIG_ENABLED ||
            api->mig_count(handle->device[i], &most) != NVML_SUCCESS) {
            continue;
        }
        for (unsigned part = 0; part < most; part++) {
            nvml_device device;
            if (api->mig_by_index(handle->device[i], part, &device) == NVML_SUCCESS) {
                add_device(handle, device, (int)i);
            }
        }
    }
}

/* KB/s of the last 20 ms; 1 KB is 1,024 bytes here. */
static int64_t read_pcie(const struct nvml *api, nvml_device device, int direction)
{
    unsigned kib;
    return api->pcie(device, direction, &kib) == NVML_SUCCESS ? (int64_t)kib * 1024
                                                              : GPU_NOT_AVAILABLE;
}

static void ask_slow(void *arg, unsigned at, int64_t out[SLOW_FIGURES])
{
    const struct gpu_handle *handle = arg;
    const struct nvml *api = &handle->api;
    nvml_device device = handle->device[at];
    unsigned long long energy_mj;
    if (api->energy && api->energy(device, &energy_mj) == NVML_SUCCESS) {
        out[SLOW_ENERGY] = (int64_t)energy_mj * 1000;
    }
    if (api->pcie) {
        out[SLOW_PCIE_RX] = read_pcie(api, device, NVML_PCIE_RX);
        out[SLOW_PCIE_TX] = read_pcie(api, device, NVML_PCIE_TX);
    }
    nvml_details_ask(handle->details, at, out);
}

static void close_nvml(struct gpu_handle *handle)
{
    slow_query_close(handle->slow);
    nvml_details_close(handle->details);
    handle->api.shutdown();
    nvml_unload(handle->library);
    free(handle);
}

static struct gpu_handle *open_nvml(const struct gpu_wish *wish)
{
    struct gpu_handle *handle = calloc(1, sizeof *handle);
    if (!handle) {
        return NULL;
    }
    handle->library = nvml_load(&handle->api);
    if (!handle->library || handle->api.init() != NVML_SUCCESS) {
        if (handle->library) {
            nvml_unload(handle->library);
        }
        free(handle);
        return NULL;
    }
    find_devices(handle);
    if (handle->count == 0) {
        close_nvml(handle);
        return NULL;
    }
    if (wish->details) {
        find_mig_devices(handle);
        handle->details = nvml_details_open(&handle->api, handle->device, handle->count);
    }
    handle->slow = slow_query_open(handle->count, ask_slow, handle);
    return handle;
}

static unsigned count_nvml(const struct gpu_handle *handle)
{
    return handle->count;
}

/* FP32 cores of a multiprocessor, by the CUDA programming guide; 0 = not known. */
static unsigned cores_per_multi_processor(int major, int minor)
{
    switch (major) {
    case 5:
        return 128;
    case 6:
        return minor == 0 ? 64 : 128;
    case 7:
        return 64;
    case 8:
        return minor == 0 ? 64 : 128;
    case 9:
    case 10:
    case 11:
    case 12:
        return 128;
    default:
        return 0;
    }
}

/* NVML has it for MIG devices alone; of others it has the cores. */
static int multi_processors(const struct nvml *api, nvml_device device,
                            const struct gpu_info *info)
{
    struct nvml_attributes attributes;
    unsigned cores;
    unsigned each = cores_per_multi_processor(info->compute_major, info->compute_minor);
    if (info->parent >= 0) {
        return api->attributes && api->attributes(device, &attributes) == NVML_SUCCESS
                   ? (int)attributes.multiprocessors
                   : GPU_NOT_AVAILABLE;
    }
    return each && api->cores && api->cores(device, &cores) == NVML_SUCCESS
               ? (int)(cores / each)
               : GPU_NOT_AVAILABLE;
}

static void info_nvml(struct gpu_handle *handle, unsigned at, struct gpu_info *out)
{
    const struct nvml *api = &handle->api;
    nvml_device device = handle->device[at];
    struct nvml_pci pci;
    *out = (struct gpu_info){
        .vendor = "NVIDIA", .parent = handle->parent[at], .warp_size = NVIDIA_WARP};
    if (api->name(device, out->name, sizeof out->name) != NVML_SUCCESS) {
        snprintf(out->name, sizeof out->name, "NVIDIA GPU %u", at);
    }
    if (api->uuid(device, out->uuid, sizeof out->uuid) != NVML_SUCCESS) {
        snprintf(out->uuid, sizeof out->uuid, "GPU-unknown-%u", at);
    }
    if (api->pci && api->pci(device, &pci) == NVML_SUCCESS) {
        out->pci_bus = (int)pci.bus;
    }
    if (api->capability && api->capability(device, &out->compute_major,
                                           &out->compute_minor) == NVML_SUCCESS) {
        snprintf(out->architecture, sizeof out->architecture, "sm_%d%d",
                 out->compute_major, out->compute_minor);
    }
    out->multi_processors = multi_processors(api, device, out);
}

static int64_t read_nvml_clock(const struct nvml *api, nvml_device device, int which)
{
    unsigned mhz;
    return api->clock && api->clock(device, which, &mhz) == NVML_SUCCESS
               ? (int64_t)mhz
               : GPU_NOT_AVAILABLE;
}

static int64_t read_memory_temperature(const struct nvml *api, nvml_device device)
{
    struct nvml_field field = {.id = NVML_FIELD_MEMORY_TEMP};
    bool told = api->fields && api->fields(device, 1, &field) == NVML_SUCCESS &&
                field.status == NVML_SUCCESS && field.type == NVML_VALUE_UINT;
    return told ? (int64_t)field.value.u : GPU_NOT_AVAILABLE;
}

static int64_t read_nvml_ecc(const struct nvml *api, nvml_device device, int kind)
{
    unsigned long long count;
    return api->ecc && api->ecc(device, kind, NVML_ECC_VOLATILE, NVML_DEVICE_MEMORY,
                                &count) == NVML_SUCCESS
               ? (int64_t)count
               : GPU_NOT_AVAILABLE;
}

/* The columns from fan_speed_pct on. */
static void sample_more(struct gpu_handle *handle, unsigned at, struct gpu_sample *out)
{
    const struct nvml *api = &handle->api;
    nvml_device device = handle->device[at];
    unsigned value;
    int64_t slow[SLOW_FIGURES];
    if (api->fan && api->fan(device, 0, &value) == NVML_SUCCESS) {
        out->fan_pct = value;
    }
    out->temp_junction_c = out->temp_c; /* the sensor that NVML reads is on the die */
    out->temp_mem_c = read_memory_temperature(api, device);
    out->ecc_corrected = read_nvml_ecc(api, device, NVML_ECC_CORRECTED);
    out->ecc_uncorrected = read_nvml_ecc(api, device, NVML_ECC_UNCORRECTED);
    slow_query_take(handle->slow, at, slow);
    out->pcie_rx_bps = slow[SLOW_PCIE_RX];
    out->pcie_tx_bps = slow[SLOW_PCIE_TX];
    out->energy_uj = slow[SLOW_ENERGY];
    out->own_used_mib = slow[SLOW_OWN_USED];
    out->own_util_pct = slow[SLOW_OWN_UTIL];
    out->nvlink_rx_bytes = slow[SLOW_NVLINK_RX];
    out->nvlink_tx_bytes = slow[SLOW_NVLINK_TX];
    out->xid_count = slow[SLOW_XID_COUNT];
    out->last_xid = slow[SLOW_LAST_XID];
}

static void sample_nvml(struct gpu_handle *handle, unsigned at, struct gpu_sample *out)
{
    const struct nvml *api = &handle->api;
    nvml_device device = handle->device[at];
    struct nvml_memory memory;
    struct nvml_utilization used;
    unsigned value;
    unsigned long long reasons;
    memset(out, 0xff, sizeof *out); /* every figure GPU_NOT_AVAILABLE */
    if (api->memory && api->memory(device, &memory) == NVML_SUCCESS) {
        out->used_mib = (int64_t)(memory.used >> 20);
        out->free_mib = (int64_t)(memory.free >> 20);
        out->total_mib = (int64_t)(memory.total >> 20);
    }
    if (api->utilization && api->utilization(device, &used) == NVML_SUCCESS) {
        out->gpu_util_pct = used.gpu;
        out->mem_util_pct = used.memory;
    }
    if (api->temperature &&
        api->temperature(device, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS) {
        out->temp_c = value;
    }
    if (api->power && api->power(device, &value) == NVML_SUCCESS) {
        out->power_mw = value;
    }
    out->clock_gfx_mhz = read_nvml_clock(api, device, NVML_CLOCK_GRAPHICS);
    out->clock_sm_mhz = read_nvml_clock(api, device, NVML_CLOCK_SM);
    out->clock_mem_mhz = read_nvml_clock(api, device, NVML_CLOCK_MEM);
    if (api->reasons && api->reasons(device, &reasons) == NVML_SUCCESS) {
        out->throttle_reasons = (int64_t)reasons;
        out->throttle_power = (reasons & NVML_REASON_SW_POWER_CAP) != 0;
        out->throttle_thermal = (reasons & NVML_REASON_SW_THERMAL) != 0;
    }
    sample_more(handle, at, out);
}

const struct gpu_source gpu_source_nvml = {
    .name = "nvml",
    .kind = GPUFL_BACKEND_NVIDIA,
    .open = open_nvml,
    .count = count_nvml,
    .info = info_nvml,
    .sample = sample_nvml,
    .close = close_nvml,
};
