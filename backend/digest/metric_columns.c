/* SPDX-License-Identifier: Apache-2.0 */
/* The table of metrics that are charted. */
#include "backend/digest/metric_columns.h"

#include <string.h>

#include "schema/column_names.h"

const struct metric metrics[] = {
    {COLUMN(DEVICE, gpu_util), "%", 1, false},
    {COLUMN(DEVICE, mem_util), "%", 1, false},
    {COLUMN(DEVICE, temp_c), "°C", 1, false},
    {COLUMN(DEVICE, power_mw), "W", 1e-3, false},
    {COLUMN(DEVICE, used_mib), "MiB", 1, false},
    {COLUMN(DEVICE, total_mib), "MiB", 1, false},
    {COLUMN(DEVICE, clock_sm), "MHz", 1, false},
    {COLUMN(DEVICE, fan_speed_pct), "%", 1, false},
    {COLUMN(DEVICE, temp_mem_c), "°C", 1, false},
    {COLUMN(DEVICE, temp_junction_c), "°C", 1, false},
    {COLUMN(DEVICE, voltage_mv), "V", 1e-3, false},
    {COLUMN(DEVICE, energy_uj), "J", 1e-6, false},
    {COLUMN(DEVICE, clock_mem), "MHz", 1, false},
    {COLUMN(DEVICE, pcie_bw_bps), "MB/s", 1e-6, false},
    {COLUMN(DEVICE, ecc_corrected), "errors", 1, false},
    {COLUMN(DEVICE, ecc_uncorrected), "errors", 1, false},
    {COLUMN(HOST, cpu_pct_x100), "%", 1e-2, true},
    {COLUMN(HOST, ram_used_mib), "MiB", 1, true},
    {COLUMN(HOST, ram_total_mib), "MiB", 1, true},
    {COLUMN(HOST, cgroup_cpu_pct_x100), "%", 1e-2, true},
    {COLUMN(HOST, cgroup_cpu_limit_pct_x100), "%", 1e-2, true},
    {COLUMN(HOST, cgroup_mem_used_mib), "MiB", 1, true},
    {COLUMN(HOST, cgroup_mem_limit_mib), "MiB", 1, true},
    /* The position of a metric is its id in the database: append only. */
    {COLUMN(DEVICE, throttle_reasons), "bits", 1, false},
    {COLUMN(DEVICE, own_used_mib), "MiB", 1, false},
    {COLUMN(DEVICE, own_gpu_util), "%", 1, false},
    {COLUMN(DEVICE, nvlink_rx_bytes), "GB", 1e-9, false},
    {COLUMN(DEVICE, nvlink_tx_bytes), "GB", 1e-9, false},
    {COLUMN(DEVICE, xid_count), "errors", 1, false},
};
const unsigned metrics_count = sizeof metrics / sizeof *metrics;

int metric_column_of(const char *name)
{
    for (unsigned i = 0; i < metrics_count; i++) {
        if (strcmp(metrics[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}
