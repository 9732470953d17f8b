/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of NVML that we call, from libnvidia-ml.so.1, opened at run time.
 *
 * The declarations are our own, after the NVML API reference (nvml.h is not needed to
 * build); the soname's ABI is stable. A function that an older driver lacks is NULL. */
#ifndef GPUFL_COLLECTOR_SAMPLE_NVML_API_H
#define GPUFL_COLLECTOR_SAMPLE_NVML_API_H

#include <limits.h>

typedef struct nvml_device *nvml_device; /* opaque pointer of the driver */

enum { NVML_SUCCESS = 0, NVML_TEMPERATURE_GPU = 0 };
enum { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };
enum { NVML_PCIE_TX = 0, NVML_PCIE_RX = 1 };
enum { NVML_ECC_CORRECTED = 0, NVML_ECC_UNCORRECTED = 1, NVML_ECC_VOLATILE = 0 };
enum { NVML_DEVICE_MEMORY = 2, NVML_MIG_ENABLED = 1 };
enum { NVML_VALUE_UINT = 1, NVML_VALUE_ULONG = 2, NVML_VALUE_ULONG_LONG = 3 };
enum {
    NVML_FIELD_MEMORY_TEMP = 82,
    NVML_FIELD_NVLINK_TX = 138,
    NVML_FIELD_NVLINK_RX = 139
};
#define NVML_ALL_LINKS           UINT_MAX
#define NVML_EVENT_XID           0x8ull
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
        unsigned long long ull;
        double widest;
    } value;
};
struct nvml_attributes { /* of a MIG device */
    unsigned multiprocessors, engines[5], gpu_slices, compute_slices;
    unsigned long long memory_mib;
};
struct nvml_process {
    unsigned pid; /* in the host's pid namespace */
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};
struct nvml_process_use {
    unsigned pid;
    unsigned long long timestamp_us;
    unsigned sm_pct, memory_pct, encoder_pct, decoder_pct;
};
typedef struct nvml_event_set *nvml_event_set;
struct nvml_event {
    nvml_device device;
    unsigned long long type, data; /* data: the Xid */
    unsigned gpu_instance, compute_instance;
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
    int (*cores)(nvml_device, unsigned *);
    int (*attributes)(nvml_device, struct nvml_attributes *);
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
    int (*processes)(nvml_device, unsigned *, struct nvml_process *);
    int (*process_use)(nvml_device, struct nvml_process_use *, unsigned *,
                       unsigned long long);
    int (*mig_mode)(nvml_device, unsigned *, unsigned *);
    int (*mig_count)(nvml_device, unsigned *);
    int (*mig_by_index)(nvml_device, unsigned, nvml_device *);
    int (*event_set_create)(nvml_event_set *);
    int (*event_set_free)(nvml_event_set);
    int (*register_events)(nvml_device, unsigned long long, nvml_event_set);
    int (*event_wait)(nvml_event_set, struct nvml_event *, unsigned);
};

/** Opens the library and fills in \p api. NULL if it is missing or lacks a function
 * that is needed. Close with nvml_unload. */
void *nvml_load(struct nvml *api);
void nvml_unload(void *library);

#endif
