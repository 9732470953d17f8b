/* SPDX-License-Identifier: Apache-2.0 */
/* Formats the records of a session's begin and end and its marks. Key order and number
 * formats are the wire's: existing readers search these lines by bytes. */
#include "collector-lib/writer/session_records.h"

#include <inttypes.h>
#include <string.h>

#include "collector-lib/trace/profiler.h"
#include "schema/records.h"

/* A flag that is not available is written as 0. */
static int64_t flag(int64_t value)
{
    return value > 0;
}

static void json_devices(struct text *out, const struct record_state *state)
{
    text_puts(out, "[");
    for (unsigned i = 0; i < state->gpus; i++) {
        const struct gpu_info *info = &state->info[i];
        const struct gpu_sample *s = &state->sample[i];
        text_printf(out, "%s{\"id\":%u,\"name\":", i ? "," : "", state->id[i]);
        text_json_string(out, info->name);
        text_puts(out, ",\"uuid\":");
        text_json_string(out, info->uuid);
        text_puts(out, ",\"vendor\":");
        text_json_string(out, info->vendor);
        text_printf(out,
                    ",\"pci_bus\":%d,\"used_mib\":%" PRId64 ",\"free_mib\":%" PRId64
                    ",\"total_mib\":%" PRId64 ",\"util_gpu_pct\":%" PRId64
                    ",\"util_mem_pct\":%" PRId64 ",\"temp_c\":%" PRId64
                    ",\"power_mw\":%" PRId64,
                    info->pci_bus, s->used_mib, s->free_mib, s->total_mib,
                    s->gpu_util_pct, s->mem_util_pct, s->temp_c, s->power_mw);
        text_printf(out,
                    ",\"clk_gfx_mhz\":%" PRId64 ",\"clk_sm_mhz\":%" PRId64
                    ",\"clk_mem_mhz\":%" PRId64 ",\"throttle_pwr\":%" PRId64
                    ",\"throttle_therm\":%" PRId64 ",\"pcie_rx_bw_bps\":%" PRId64
                    ",\"pcie_tx_bw_bps\":%" PRId64 "}",
                    s->clock_gfx_mhz, s->clock_sm_mhz, s->clock_mem_mhz,
                    flag(s->throttle_power), flag(s->throttle_thermal), s->pcie_rx_bps,
                    s->pcie_tx_bps);
    }
    text_puts(out, "]");
}

/* No source provides the sizes of caches and registers: -1 as for all that is not known.
 * device_properties has them once a device is traced. */
static void json_static(struct text *out, const struct record_state *state,
                        const char *only_vendor)
{
    bool first = true;
    text_puts(out, "[");
    for (unsigned i = 0; i < state->gpus; i++) {
        const struct gpu_info *info = &state->info[i];
        if (only_vendor && strcmp(info->vendor, only_vendor) != 0) {
            continue;
        }
        text_printf(out, "%s{\"id\":%u,\"name\":", first ? "" : ",", state->id[i]);
        first = false;
        text_json_string(out, info->name);
        text_puts(out, ",\"uuid\":");
        text_json_string(out, info->uuid);
        text_puts(out, ",\"vendor\":");
        text_json_string(out, info->vendor);
        text_puts(out, ",\"architecture\":");
        text_json_string(out, info->architecture);
        text_printf(
            out,
            ",\"compute_major\":%d,\"compute_minor\":%d,\"l2_cache_size_bytes\":-1,"
            "\"shared_mem_per_block_bytes\":-1,\"regs_per_block\":-1,"
            "\"multi_processor_count\":%d,\"warp_size\":%d}",
            info->compute_major, info->compute_minor, info->multi_processors,
            info->warp_size);
    }
    text_puts(out, "]");
}

static void json_host(struct text *out, struct host_sample host)
{
    text_printf(out,
                "{\"cpu_pct\":%d.%d,\"ram_used_mib\":%" PRId64
                ",\"ram_total_mib\":%" PRId64 "}",
                host.cpu_pct_x100 / 100, host.cpu_pct_x100 / 10 % 10, host.ram_used_mib,
                host.ram_total_mib);
}

static void json_pod(struct text *out, const struct pod *pod)
{
    if (!pod->name[0] && !pod->name_space[0] && !pod->node[0]) {
        return; /* not in a pod, or the variables are not set */
    }
    text_puts(out, "\"kubernetes\":{\"pod\":");
    text_json_string(out, pod->name);
    text_puts(out, ",\"namespace\":");
    text_json_string(out, pod->name_space);
    text_puts(out, ",\"node\":");
    text_json_string(out, pod->node);
    text_puts(out, "},");
}

/* Readers look no further than into the first bytes of a file. */
#define JOB_START_HEAD "{\"version\":1,\"type\":\"" RECORD_JOB_START "\","

void record_job_start(struct text *out, const struct record_context *context,
                      const struct record_state *state,
                      enum gpufl_profiling_engine engine, int64_t mono_ns)
{
    text_puts(out, JOB_START_HEAD);
    record_who(out, context);
    text_puts(out, ",\"log_path\":");
    text_json_string(out, context->log_path);
    text_printf(out,
                ",\"ts_ns\":%" PRId64 ",\"hostname\":", mono_ns + context->anchor_ns);
    text_json_string(out, state->host->hostname);
    text_puts(out, ",\"ip_addr\":");
    text_json_string(out, state->host->ip_addr);
    text_puts(out, ",");
    json_pod(out, context->pod);
    text_puts(out, "\"host\":");
    json_host(out, state->host_sample);
    text_puts(out, ",\"devices\":");
    json_devices(out, state);
    text_puts(out, ",\"gpu_static_devices\":");
    json_static(out, state, NULL);
    text_puts(out, ",\"cuda_static_devices\":");
    json_static(out, state, "NVIDIA");
    text_puts(out, ",\"rocm_static_devices\":");
    json_static(out, state, "AMD");
    text_printf(out, ",\"session_kind\":\"%s\",\"profiling_engine\":\"%s\"}\n",
                engine == GPUFL_ENGINE_MONITOR ? "monitor" : "trace",
                profiler_wire_name(engine));
}

void record_job_start_repeated(struct text *out, const struct text *start)
{
    size_t head = sizeof JOB_START_HEAD - 1;
    text_puts(out, JOB_START_HEAD "\"" RECORD_REPEATED "\":true,");
    text_append(out, start->data + head, start->len - head);
}

void record_shutdown(struct text *out, const struct record_context *context,
                     int64_t mono_ns)
{
    text_puts(out, "{\"type\":\"" RECORD_SHUTDOWN "\",");
    record_who(out, context);
    text_printf(out, ",\"ts_ns\":%" PRId64 "}\n", mono_ns + context->anchor_ns);
}

void record_mark_state(struct text *out, const struct record_state *state)
{
    text_puts(out, ",\"host\":");
    json_host(out, state->host_sample);
    text_puts(out, ",\"devices\":");
    json_devices(out, state);
}

void record_system_mark(struct text *out, const struct record_context *context,
                        const struct text *state, bool start, const char *name,
                        int64_t mono_ns)
{
    text_puts(out, "{\"type\":\"");
    text_puts(out, start ? RECORD_SYSTEM_START : RECORD_SYSTEM_STOP);
    text_puts(out, "\",");
    record_who(out, context);
    text_puts(out, ",\"name\":");
    text_json_string(out, name);
    text_puts(out, ",\"ts_ns\":");
    text_i64(out, mono_ns + context->anchor_ns);
    text_join(out, state);
    text_puts(out, "}\n");
}
