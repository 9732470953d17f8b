/* SPDX-License-Identifier: Apache-2.0 */
/* Formats samples of devices and host as batches of rows. */
#include "collector-lib/writer/metric_records.h"

#include "collector-lib/core/record_row.h"
#include "schema/records.h"

static int64_t pcie_bps(const struct gpu_sample *s)
{
    return s->pcie_rx_bps < 0 || s->pcie_tx_bps < 0 ? GPU_NOT_AVAILABLE
                                                    : s->pcie_rx_bps + s->pcie_tx_bps;
}

static void device_cells(struct text *out, const struct metric_row *row, int64_t base_ns)
{
    const struct gpu_sample *s = &row->gpu;
    const int64_t dt_ns = row->mono_ns - base_ns;
    const uint64_t device_id = row->device;
    const int64_t gpu_util = s->gpu_util_pct;
    const int64_t mem_util = s->mem_util_pct;
    const int64_t temp_c = s->temp_c;
    const int64_t power_mw = s->power_mw;
    const int64_t used_mib = s->used_mib;
    const int64_t total_mib = s->total_mib;
    const int64_t clock_sm = s->clock_sm_mhz;
    const int64_t fan_speed_pct = s->fan_pct;
    const int64_t temp_mem_c = s->temp_mem_c;
    const int64_t temp_junction_c = s->temp_junction_c;
    const int64_t voltage_mv = s->voltage_mv;
    const int64_t energy_uj = s->energy_uj;
    const int64_t clock_mem = s->clock_mem_mhz;
    const int64_t pcie_bw_bps = pcie_bps(s);
    const int64_t ecc_corrected = s->ecc_corrected;
    const int64_t ecc_uncorrected = s->ecc_uncorrected;
    RECORD_DEVICE_COLUMNS(RECORD_FIRST_CELL, RECORD_NEXT_CELL)
}

static void detail_cells(struct text *out, const struct metric_row *row)
{
    const struct gpu_sample *s = &row->gpu;
    const int64_t throttle_reasons = s->throttle_reasons;
    const int64_t own_used_mib = s->own_used_mib;
    const int64_t own_gpu_util = s->own_util_pct;
    const int64_t nvlink_rx_bytes = s->nvlink_rx_bytes;
    const int64_t nvlink_tx_bytes = s->nvlink_tx_bytes;
    const int64_t xid_count = s->xid_count;
    const int64_t last_xid = s->last_xid;
    const int64_t parent_device_id = row->parent;
    RECORD_DETAIL_COLUMNS(RECORD_NEXT_CELL)
}

void record_device_metrics(struct text *out, const struct record_context *context,
                           const struct metric_row *rows, size_t count, uint64_t batch_id,
                           bool details)
{
    record_begin(out, context, 1, RECORD_DEVICE_METRICS);
    record_open_rows(out, context, batch_id, rows[0].mono_ns,
                     details ? RECORD_COLUMN_TEXT(RECORD_DETAILED_COLUMNS)
                             : RECORD_COLUMN_TEXT(RECORD_DEVICE_COLUMNS));
    for (size_t i = 0; i < count; i++) {
        text_puts(out, i ? "," : "");
        device_cells(out, &rows[i], rows[0].mono_ns);
        if (details) {
            detail_cells(out, &rows[i]);
        }
        text_char(out, ']');
    }
    text_puts(out, "]}\n");
}

static void host_row(struct text *out, const struct metric_row *row, int64_t base_ns)
{
    const struct host_sample *h = &row->host;
    const int64_t dt_ns = row->mono_ns - base_ns;
    const int64_t cpu_pct_x100 = h->cpu_pct_x100;
    const int64_t ram_used_mib = h->ram_used_mib;
    const int64_t ram_total_mib = h->ram_total_mib;
    const int64_t cgroup_cpu_pct_x100 = h->cgroup.cpu_pct_x100;
    const int64_t cgroup_cpu_limit_pct_x100 = h->cgroup.cpu_limit_pct_x100;
    const int64_t cgroup_mem_used_mib = h->cgroup.memory_used_mib;
    const int64_t cgroup_mem_limit_mib = h->cgroup.memory_limit_mib;
    RECORD_ROW(RECORD_HOST_COLUMNS);
}

void record_host_metrics(struct text *out, const struct record_context *context,
                         const struct host *host, const struct metric_row *rows,
                         size_t count, uint64_t batch_id)
{
    record_begin(out, context, 1, RECORD_HOST_METRICS);
    text_puts(out, ",\"hostname\":");
    text_json_string(out, host->hostname);
    text_puts(out, ",\"ip_addr\":");
    text_json_string(out, host->ip_addr);
    record_open_rows(out, context, batch_id, rows[0].mono_ns,
                     RECORD_COLUMN_TEXT(RECORD_HOST_COLUMNS));
    for (size_t i = 0; i < count; i++) {
        text_puts(out, i ? "," : "");
        host_row(out, &rows[i], rows[0].mono_ns);
    }
    text_puts(out, "]}\n");
}
