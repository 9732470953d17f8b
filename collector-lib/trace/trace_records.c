/* SPDX-License-Identifier: Apache-2.0 */
/* Formats kernels, copies, waits, allocations, samples and source files. */
#include "collector-lib/trace/trace_records.h"

#include <inttypes.h>
#include <string.h>

#include "collector-lib/core/record_row.h"
#include "schema/records.h"

void row_kernel(struct text *out, int64_t base_ns, const struct trace_kernel *k,
                struct kernel_refs refs)
{
    const int64_t dt_ns = k->start_ns - base_ns;
    const uint64_t kernel_id = refs.kernel_id;
    const uint64_t stream_id = k->stream;
    const int64_t duration_ns = k->end_ns - k->start_ns;
    const uint64_t corr_id = k->correlation;
    const uint64_t dyn_shared = k->dynamic_shared_bytes;
    const uint64_t num_regs = k->registers;
    const uint64_t has_details = refs.detail_correlation == k->correlation;
    const uint64_t external_kind = refs.external_kind;
    const uint64_t external_id = refs.external_id;
    const uint64_t device_id = refs.device;
    const uint64_t detail_corr_id = refs.detail_correlation;
    const uint64_t scope_instance_id = refs.scope_instance;
    const uint64_t context_id = k->context;
    RECORD_ROW(RECORD_KERNEL_COLUMNS);
}

void row_copy(struct text *out, int64_t base_ns, const struct trace_copy *c,
              uint64_t device_id, uint64_t scope_instance_id)
{
    const int64_t dt_ns = c->start_ns - base_ns;
    const uint64_t stream_id = c->stream;
    const int64_t duration_ns = c->end_ns - c->start_ns;
    const uint64_t bytes = c->bytes;
    const uint64_t copy_kind = c->kind;
    const uint64_t corr_id = c->correlation;
    const uint64_t context_id = c->context;
    RECORD_ROW(RECORD_COPY_COLUMNS);
}

void row_set(struct text *out, int64_t base_ns, const struct trace_set *s,
             uint64_t device_id, uint64_t scope_instance_id)
{
    const int64_t dt_ns = s->start_ns - base_ns;
    const uint64_t stream_id = s->stream;
    const int64_t duration_ns = s->end_ns - s->start_ns;
    const uint64_t bytes = s->bytes;
    const uint64_t corr_id = s->correlation;
    RECORD_ROW(RECORD_SET_COLUMNS);
}

void row_wait(struct text *out, int64_t base_ns, const struct trace_wait *w,
              uint32_t function)
{
    const int64_t dt_ns = w->start_ns - base_ns;
    const int64_t duration_ns = w->end_ns - w->start_ns;
    const uint64_t sync_type = w->type;
    const uint64_t stream_id = w->stream;
    const uint64_t event_id = w->event;
    const uint64_t context_id = w->context;
    const uint64_t corr_id = w->correlation;
    const uint64_t function_id = function;
    RECORD_ROW(RECORD_WAIT_COLUMNS);
}

void row_allocation(struct text *out, int64_t base_ns, const struct trace_memory *m,
                    uint64_t device_id)
{
    const int64_t dt_ns = m->at_ns - base_ns;
    const uint64_t duration_ns = m->duration_ns;
    const uint64_t memory_op = m->operation;
    const uint64_t memory_kind = m->kind;
    const uint64_t address = m->address;
    const uint64_t bytes = m->bytes;
    const uint64_t stream_id = m->stream;
    const uint64_t corr_id = m->correlation;
    RECORD_ROW(RECORD_ALLOCATION_COLUMNS);
}

void row_sample(struct text *out, int64_t base_ns, const struct trace_sample *s,
                struct sample_refs refs)
{
    const int64_t dt_ns = s->at_ns - base_ns;
    const uint64_t corr_id = 0; /* of an instruction, not of a launch */
    const uint64_t device_id = refs.device;
    const uint64_t function_id = refs.function_id;
    const uint64_t pc_offset = s->pc_offset;
    const uint64_t metric_id = refs.metric_id;
    const uint64_t metric_value = s->samples;
    const uint64_t stall_reason = s->stall;
    const uint64_t sample_kind = 0;
    const uint64_t scope_name_id = 0;
    const uint64_t source_file_id = refs.file_id;
    const uint64_t source_line = s->line;
    RECORD_ROW(RECORD_SAMPLE_COLUMNS);
}

/* With a point, whatever the locale of the job has. */
static void record_share(struct text *out, const char *key, double share)
{
    unsigned millionths = (unsigned)(share * 1e6 + 0.5);
    text_printf(out, ",\"%s\":%u.%06u", key, millionths / 1000000, millionths % 1000000);
}

void record_kernel_detail(struct text *out, const struct record_context *context,
                          const struct trace_kernel *k, const struct occupancy *o,
                          const char *user_scope, const char *stack)
{
    record_begin(out, context, 1, RECORD_KERNEL_DETAIL);
    text_printf(out, ",\"pid\":%d,\"app\":", context->pid);
    text_json_string(out, context->app);
    text_printf(
        out,
        ",\"corr_id\":%" PRIu32 ",\"grid\":\"(%d,%d,%d)\",\"block\":\"(%d,%d,%d)\""
        ",\"static_shared\":%" PRIu32 ",\"local_bytes\":%" PRIu32 ",\"const_bytes\":0",
        k->correlation, k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1],
        k->block[2], k->static_shared_bytes, k->local_thread_bytes);
    record_share(out, "occupancy", o->all);
    record_share(out, "reg_occupancy", o->registers);
    record_share(out, "smem_occupancy", o->shared);
    record_share(out, "warp_occupancy", o->warps);
    record_share(out, "block_occupancy", o->blocks);
    text_printf(out, ",\"limiting_resource\":\"%s\",\"max_active_blocks\":%u",
                o->limiting, o->max_active_blocks);
    text_printf(out,
                ",\"local_mem_total_bytes\":%" PRIu64 ",\"local_mem_per_thread_bytes\":"
                "%" PRIu32 ",\"cache_config_requested\":%u,\"cache_config_executed\":%u"
                ",\"shared_mem_executed_bytes\":%" PRIu32 ",\"user_scope\":",
                k->local_total_bytes, k->local_thread_bytes, k->cache_requested,
                k->cache_executed, k->shared_executed_bytes);
    text_json_string(out, *user_scope ? user_scope : "global");
    text_puts(out, ",\"stack_trace\":");
    text_json_string(out, stack);
}

/* A figure that is not known is -1. */
static int64_t figure(uint32_t value)
{
    return value ? (int64_t)value : -1;
}

void record_device(struct text *out, const struct record_context *context,
                   const struct trace_device_known *device)
{
    const struct trace_device *d = &device->about;
    record_begin(out, context, 1, RECORD_DEVICE_PROPERTIES);
    text_printf(out, ",\"id\":%u,\"cuda_ordinal\":%" PRIu32 ",\"name\":", device->id,
                device->ordinal);
    text_json_string(out, d->name);
    text_puts(out, ",\"uuid\":");
    text_json_string(out, d->uuid);
    text_printf(out,
                ",\"vendor\":\"NVIDIA\",\"compute_major\":%" PRIu32
                ",\"compute_minor\":%" PRIu32 ",\"multi_processor_count\":%" PRId64
                ",\"warp_size\":%" PRId64 ",\"l2_cache_size_bytes\":%" PRId64
                ",\"shared_mem_per_block_bytes\":%" PRId64 ",\"regs_per_block\":%" PRId64,
                d->compute_major, d->compute_minor, figure(d->multi_processors),
                figure(d->threads_per_warp), figure(d->l2_bytes),
                figure(d->shared_per_block_bytes), figure(d->registers_per_block));
    text_printf(out,
                ",\"memory_clock_khz\":%" PRId64 ",\"memory_bus_bits\":%" PRId64 "}\n",
                figure(d->memory_clock_khz), figure(d->memory_bus_bits));
}

void record_graph_launch(struct text *out, const struct record_context *context,
                         const struct trace_graph *g)
{
    text_puts(out, "{\"type\":\"" RECORD_GRAPH_LAUNCH "\",");
    record_who(out, context);
    text_printf(out,
                ",\"start_ns\":%" PRId64 ",\"end_ns\":%" PRId64
                ",\"duration_ns\":%" PRId64 ",\"graph_id\":%" PRIu32
                ",\"device_id\":%" PRIu32 ",\"stream_id\":%" PRIu32
                ",\"corr_id\":%" PRIu32 "}\n",
                g->start_ns + context->anchor_ns, g->end_ns + context->anchor_ns,
                g->end_ns - g->start_ns, g->graph, g->device, g->stream, g->correlation);
}

void record_source(struct text *out, const struct record_context *context,
                   uint32_t file_id, const char *bytes, size_t len)
{
    record_begin(out, context, 1, RECORD_SOURCE);
    text_printf(out, ",\"source_file_id\":%" PRIu32 ",\"lines\":[", file_id);
    const char *end = bytes + len;
    for (const char *line = bytes; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t size = (size_t)((newline ? newline : end) - line);
        text_puts(out, line == bytes ? "" : ",");
        text_json_bytes(out, line, size);
        line += size + 1;
    }
    text_puts(out, "]}\n");
}
