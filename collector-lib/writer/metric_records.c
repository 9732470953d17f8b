/* SPDX-License-Identifier: Apache-2.0 */
/* Formats samples of devices and host as batches of rows. */
#include "collector-lib/writer/metric_records.h"

#include "schema/records.h"

static int64_t pcie_bps(const struct gpu_sample *s)
{
    return s->pcie_rx_bps < 0 || s->pcie_tx_bps < 0 ? GPU_NOT_AVAILABLE
                                                    : s->pcie_rx_bps + s->pcie_tx_bps;
}

static void comma_more(struct text *out, const struct gpu_sample *s)
{
    record_comma(out, s->fan_pct);
    record_comma(out, s->temp_mem_c);
    record_comma(out, s->temp_junction_c);
    record_comma(out, s->voltage_mv);
    record_comma(out, s->energy_uj);
    record_comma(out, s->clock_mem_mhz);
    record_comma(out, pcie_bps(s));
    record_comma(out, s->ecc_corrected);
    record_comma(out, s->ecc_uncorrected);
}

static void comma_details(struct text *out, const struct gpu_sample *s)
{
    record_comma(out, s->throttle_reasons);
    record_comma(out, s->own_used_mib);
    record_comma(out, s->own_util_pct);
    record_comma(out, s->nvlink_rx_bytes);
    record_comma(out, s->nvlink_tx_bytes);
    record_comma(out, s->xid_count);
    record_comma(out, s->last_xid);
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
        const struct gpu_sample *s = &rows[i].gpu;
        text_puts(out, i ? ",[" : "[");
        text_i64(out, rows[i].mono_ns - rows[0].mono_ns);
        record_comma(out, rows[i].device);
        record_comma(out, s->gpu_util_pct);
        record_comma(out, s->mem_util_pct);
        record_comma(out, s->temp_c);
        record_comma(out, s->power_mw);
        record_comma(out, s->used_mib);
        record_comma(out, s->total_mib);
        record_comma(out, s->clock_sm_mhz);
        comma_more(out, s);
        if (details) {
            comma_details(out, s);
            record_comma(out, rows[i].parent);
        }
        text_append(out, "]", 1);
    }
    text_puts(out, "]}\n");
}

static void comma_cgroup(struct text *out, const struct cgroup_sample *s)
{
    record_comma(out, s->cpu_pct_x100);
    record_comma(out, s->cpu_limit_pct_x100);
    record_comma(out, s->memory_used_mib);
    record_comma(out, s->memory_limit_mib);
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
        text_puts(out, i ? ",[" : "[");
        text_i64(out, rows[i].mono_ns - rows[0].mono_ns);
        record_comma(out, rows[i].host.cpu_pct_x100);
        record_comma(out, rows[i].host.ram_used_mib);
        record_comma(out, rows[i].host.ram_total_mib);
        comma_cgroup(out, &rows[i].host.cgroup);
        text_append(out, "]", 1);
    }
    text_puts(out, "]}\n");
}
