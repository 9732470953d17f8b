/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA devices by libnvidia-ml.so.1, opened at run time.
 *
 * The declarations are our own, after the NVML API reference (nvml.h is not needed to
 * build); the soname's ABI is stable. A call that fails, or that an older driver lacks,
 * leaves the figure at GPU_NOT_AVAILABLE. NVML has no voltage.
 *
 * Measured on an H200, driver 580: most calls take 10 µs, but the PCIe throughput query
 * blocks for 21 ms a direction and the energy counter spins for 3.2 ms, which at 20 ms a
 * sample was 17 % of a core. So those two have a thread and a slow beat of their own. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector-lib/gpu_source.h"
#include "collector-lib/slow_query.h"

typedef struct nvml_device *nvml_device; /* opaque pointer of the driver */

enum { NVML_SUCCESS = 0, NVML_TEMPERATURE_GPU = 0 };
enum { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };
enum { NVML_PCIE_TX = 0, NVML_PCIE_RX = 1 };
enum { NVML_ECC_CORRECTED = 0, NVML_ECC_UNCORRECTED = 1, NVML_ECC_VOLATILE = 0 };
enum { NVML_DEVICE_MEMORY = 2, NVML_VALUE_UINT = 1, NVML_FIELD_MEMORY_TEMP = 82 };
#define NVML_REASON_SW_POWER_CAP 0x4ull
#define NVML_REASON_SW_THERMAL   0x20ull

struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml_utilization {
    unsigned gpu, memory;
};
struct nvml_pci {
    char legacy_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char id[32];
};
struct nvml_field {
    unsigned id, scope;
    long long timestamp_us, latency_us;
    int type, status;
    union {
        unsigned u;
        double widest;
    } value;
};

struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *);
    int (*by_index)(unsigned, nvml_device *);
    int (*name)(nvml_device, char *, unsigned);
    int (*uuid)(nvml_device, char *, unsigned);
    int (*pci)(nvml_device, struct nvml_pci *);
    int (*capability)(nvml_device, int *, int *);
    int (*memory)(nvml_device, struct nvml_memory *);
    int (*utilization)(nvml_device, struct nvml_utilization *);
    int (*temperature)(nvml_device, int, unsigned *);
    int (*power)(nvml_device, unsigned *);
    int (*clock)(nvml_device, int, unsigned *);
    int (*reasons)(nvml_device, unsigned long long *);
    int (*fan)(nvml_device, unsigned, unsigned *);
    int (*fields)(nvml_device, int, struct nvml_field *);
    int (*energy)(nvml_device, unsigned long long *);
    int (*ecc)(nvml_device, int, int, int, unsigned long long *);
    int (*pcie)(nvml_device, int, unsigned *);
};

struct gpu_handle {
    void *library;
    struct nvml api;
    unsigned count;
    nvml_device device[GPU_MAX];
    struct slow_query *slow;
};

static const struct {
    const char *name;
    const char *fallback; /* name in older drivers */
    size_t slot;
    bool required;
} symbols[] = {
    {"nvmlInit_v2", NULL, offsetof(struct nvml, init), true},
    {"nvmlShutdown", NULL, offsetof(struct nvml, shutdown), true},
    {"nvmlDeviceGetCount_v2", NULL, offsetof(struct nvml, count), true},
    {"nvmlDeviceGetHandleByIndex_v2", NULL, offsetof(struct nvml, by_index), true},
    {"nvmlDeviceGetName", NULL, offsetof(struct nvml, name), true},
    {"nvmlDeviceGetUUID", NULL, offsetof(struct nvml, uuid), true},
    {"nvmlDeviceGetPciInfo_v3", NULL, offsetof(struct nvml, pci), false},
    {"nvmlDeviceGetCudaComputeCapability", NULL, offsetof(struct nvml, capability),
     false},
    {"nvmlDeviceGetMemoryInfo", NULL, offsetof(struct nvml, memory), false},
    {"nvmlDeviceGetUtilizationRates", NULL, offsetof(struct nvml, utilization), false},
    {"nvmlDeviceGetTemperature", NULL, offsetof(struct nvml, temperature), false},
    {"nvmlDeviceGetPowerUsage", NULL, offsetof(struct nvml, power), false},
    {"nvmlDeviceGetClockInfo", NULL, offsetof(struct nvml, clock), false},
    {"nvmlDeviceGetCurrentClocksEventReasons",
     "nvmlDeviceGetCurrentClocksThrottleReasons", offsetof(struct nvml, reasons), false},
    {"nvmlDeviceGetFanSpeed_v2", NULL, offsetof(struct nvml, fan), false},
    {"nvmlDeviceGetFieldValues", NULL, offsetof(struct nvml, fields), false},
    {"nvmlDeviceGetTotalEnergyConsumption", NULL, offsetof(struct nvml, energy), false},
    {"nvmlDeviceGetMemoryErrorCounter", NULL, offsetof(struct nvml, ecc), false},
    {"nvmlDeviceGetPcieThroughput", NULL, offsetof(struct nvml, pcie), false},
};

static bool load_symbols(void *library, struct nvml *api)
{
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *at = dlsym(library, symbols[i].name);
        if (!at && symbols[i].fallback) {
            at = dlsym(library, symbols[i].fallback);
        }
        if (!at && symbols[i].required) {
            return false;
        }
        /* POSIX lets a pointer from dlsym stand for a function. */
        memcpy((char *)api + symbols[i].slot, &at, sizeof at);
    }
    return true;
}

static void find_devices(struct gpu_handle *handle)
{
    unsigned count = 0;
    if (handle->api.count(&count) != NVML_SUCCESS) {
        return;
    }
    for (unsigned i = 0; i < count && handle->count < GPU_MAX; i++) {
        nvml_device device;
        if (handle->api.by_index(i, &device) == NVML_SUCCESS) {
            handle->device[handle->count++] = device;
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

enum { SLOW_PCIE_RX, SLOW_PCIE_TX, SLOW_ENERGY };

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
}

static void close_nvml(struct gpu_handle *handle)
{
    slow_query_close(handle->slow);
    handle->api.shutdown();
    dlclose(handle->library);
    free(handle);
}

static struct gpu_handle *open_nvml(int simulated)
{
    (void)simulated;
    struct gpu_handle *handle = calloc(1, sizeof *handle);
    if (!handle) {
        return NULL;
    }
    handle->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle->library) {
        free(handle);
        return NULL;
    }
    if (!load_symbols(handle->library, &handle->api) ||
        handle->api.init() != NVML_SUCCESS) {
        dlclose(handle->library);
        free(handle);
        return NULL;
    }
    find_devices(handle);
    if (handle->count == 0) {
        close_nvml(handle);
        return NULL;
    }
    if (handle->api.pcie || handle->api.energy) {
        handle->slow = slow_query_open(handle->count, ask_slow, handle);
    }
    return handle;
}

static unsigned count_nvml(const struct gpu_handle *handle)
{
    return handle->count;
}

static void info_nvml(struct gpu_handle *handle, unsigned at, struct gpu_info *out)
{
    const struct nvml *api = &handle->api;
    nvml_device device = handle->device[at];
    struct nvml_pci pci;
    *out = (struct gpu_info){.vendor = "NVIDIA"};
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
}

static int64_t read_clock(const struct nvml *api, nvml_device device, int which)
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

static int64_t read_ecc(const struct nvml *api, nvml_device device, int kind)
{
    unsigned long long count;
    return api->ecc && api->ecc(device, kind, NVML_ECC_VOLATILE, NVML_DEVICE_MEMORY,
                                &count) == NVML_SUCCESS
               ? (int64_t)count
               : GPU_NOT_AVAILABLE;
}

/* Columns 9 to 17 of the wire. */
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
    out->ecc_corrected = read_ecc(api, device, NVML_ECC_CORRECTED);
    out->ecc_uncorrected = read_ecc(api, device, NVML_ECC_UNCORRECTED);
    slow_query_take(handle->slow, at, slow);
    out->pcie_rx_bps = slow[SLOW_PCIE_RX];
    out->pcie_tx_bps = slow[SLOW_PCIE_TX];
    out->energy_uj = slow[SLOW_ENERGY];
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
    out->clock_gfx_mhz = read_clock(api, device, NVML_CLOCK_GRAPHICS);
    out->clock_sm_mhz = read_clock(api, device, NVML_CLOCK_SM);
    out->clock_mem_mhz = read_clock(api, device, NVML_CLOCK_MEM);
    if (api->reasons && api->reasons(device, &reasons) == NVML_SUCCESS) {
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
