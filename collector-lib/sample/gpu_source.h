/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of device figures: each vendor has one const struct of functions. */
#ifndef GPUFL_COLLECTOR_SAMPLE_GPU_SOURCE_H
#define GPUFL_COLLECTOR_SAMPLE_GPU_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include <gpufl/gpufl.h>

#define GPU_MAX 64u

/** A figure that a device does not have. It is recorded as -1, never as 0. */
#define GPU_NOT_AVAILABLE (-1)

/** Properties that do not change. */
struct gpu_info {
    char name[96];
    char uuid[96];
    char vendor[16];
    char architecture[16]; /**< `sm_90`; may be empty */
    int pci_bus;
    int compute_major;
    int compute_minor;
    int multi_processors; /**< GPU_NOT_AVAILABLE if not known, likewise warp_size */
    int warp_size;
    int parent; /**< the device that this one is a part of (MIG); -1 = not a part */
};

/** One sample of one device. */
struct gpu_sample {
    int64_t gpu_util_pct, mem_util_pct, temp_c, power_mw;
    int64_t used_mib, free_mib, total_mib;
    int64_t clock_gfx_mhz, clock_sm_mhz, clock_mem_mhz;
    int64_t throttle_power, throttle_thermal; /**< 0 or 1 */
    int64_t fan_pct, temp_mem_c, temp_junction_c, voltage_mv;
    int64_t energy_uj;                      /**< since the driver was loaded */
    int64_t pcie_rx_bps, pcie_tx_bps;       /**< bytes a second */
    int64_t ecc_corrected, ecc_uncorrected; /**< since the driver was loaded */
    /* Details: */
    int64_t throttle_reasons;                 /**< bits as NVML's clocks event reasons */
    int64_t own_used_mib, own_util_pct;       /**< of this process */
    int64_t nvlink_rx_bytes, nvlink_tx_bytes; /**< of all links, counted by the driver */
    int64_t xid_count, last_xid;              /**< since the session began */
};

struct gpu_wish {
    int simulated;     /**< number of simulated GPUs */
    bool details;      /**< MIG devices, and the figures above */
    const char *sysfs; /**< GPUFL_SYSFS, NULL or "" = not set; outlives the source */
};

/** An open source, made by gpu_source.open and used by one thread alone. */
struct gpu_handle;

struct gpu_source {
    const char *name;
    enum gpufl_backend_kind kind;
    /** NULL if the vendor's driver does not answer. */
    struct gpu_handle *(*open)(const struct gpu_wish *wish);
    unsigned (*count)(const struct gpu_handle *handle);
    void (*info)(struct gpu_handle *handle, unsigned at, struct gpu_info *out);
    void (*sample)(struct gpu_handle *handle, unsigned at, struct gpu_sample *out);
    void (*close)(struct gpu_handle *handle);
};

#endif
