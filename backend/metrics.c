/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/metrics.h"

#include <string.h>

const struct metric metrics[] = {
    {"gpu_util", "%", 1, false},
    {"mem_util", "%", 1, false},
    {"temp_c", "°C", 1, false},
    {"power_mw", "W", 1e-3, false},
    {"used_mib", "MiB", 1, false},
    {"total_mib", "MiB", 1, false},
    {"clock_sm", "MHz", 1, false},
    {"fan_speed_pct", "%", 1, false},
    {"temp_mem_c", "°C", 1, false},
    {"temp_junction_c", "°C", 1, false},
    {"voltage_mv", "V", 1e-3, false},
    {"energy_uj", "J", 1e-6, false},
    {"clock_mem", "MHz", 1, false},
    {"pcie_bw_bps", "MB/s", 1e-6, false},
    {"ecc_corrected", "errors", 1, false},
    {"ecc_uncorrected", "errors", 1, false},
    {"cpu_pct_x100", "%", 1e-2, true},
    {"ram_used_mib", "MiB", 1, true},
    {"ram_total_mib", "MiB", 1, true},
    {"cgroup_cpu_pct_x100", "%", 1e-2, true},
    {"cgroup_cpu_limit_pct_x100", "%", 1e-2, true},
    {"cgroup_mem_used_mib", "MiB", 1, true},
    {"cgroup_mem_limit_mib", "MiB", 1, true},
    /* Their place is their id in the store: new ones come last. */
    {"throttle_reasons", "bits", 1, false},
    {"own_used_mib", "MiB", 1, false},
    {"own_gpu_util", "%", 1, false},
    {"nvlink_rx_bytes", "GB", 1e-9, false},
    {"nvlink_tx_bytes", "GB", 1e-9, false},
    {"xid_count", "errors", 1, false},
};
const unsigned metrics_count = sizeof metrics / sizeof *metrics;

int metric_of(const char *name)
{
    for (unsigned i = 0; i < metrics_count; i++) {
        if (strcmp(metrics[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}
