/* SPDX-License-Identifier: Apache-2.0 */
/* Opens NVML and finds its functions. */
#include "collector-lib/sample/nvml_api.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "collector-lib/core/fork_guard.h"
#include "collector-lib/files/files_thread.h"

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
    {"nvmlDeviceGetNumGpuCores", NULL, offsetof(struct nvml, cores), false},
    {"nvmlDeviceGetAttributes_v2", NULL, offsetof(struct nvml, attributes), false},
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
    {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
     offsetof(struct nvml, processes), false},
    {"nvmlDeviceGetProcessUtilization", NULL, offsetof(struct nvml, process_use), false},
    {"nvmlDeviceGetMigMode", NULL, offsetof(struct nvml, mig_mode), false},
    {"nvmlDeviceGetMaxMigDeviceCount", NULL, offsetof(struct nvml, mig_count), false},
    {"nvmlDeviceGetMigDeviceHandleByIndex", NULL, offsetof(struct nvml, mig_by_index),
     false},
    {"nvmlEventSetCreate", NULL, offsetof(struct nvml, event_set_create), false},
    {"nvmlEventSetFree", NULL, offsetof(struct nvml, event_set_free), false},
    {"nvmlDeviceRegisterEvents", NULL, offsetof(struct nvml, register_events), false},
    {"nvmlEventSetWait_v2", NULL, offsetof(struct nvml, event_wait), false},
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
        /* POSIX guarantees that a pointer from dlsym can be a function. */
        memcpy((char *)api + symbols[i].slot, &at, sizeof at);
    }
    return true;
}

struct nvml_loading {
    struct nvml *api;
    void *library;
};

static void load_nvml(void *arg)
{
    struct nvml_loading *l = arg;
    fork_guard_load();
    l->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    fork_guard_loaded();
    if (l->library && !load_symbols(l->library, l->api)) {
        nvml_unload(l->library);
        l->library = NULL;
    }
    dlerror();
    dlerror(); /* frees what the thread has of what is missing: it is lost in a fork */
}

/* The loader holds the file of a library open under a low number for some milliseconds:
 * a job may close that just then and open its own there, which the loader closes. */
void *nvml_load(struct nvml *api)
{
    struct nvml_loading loading = {api, NULL};
    files_thread_call_apart(THREAD_GPU, load_nvml, &loading);
    return loading.library;
}

void nvml_unload(void *library)
{
    fork_guard_load();
    dlclose(library);
    fork_guard_loaded();
}
