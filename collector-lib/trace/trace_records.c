/* SPDX-License-Identifier: Apache-2.0 */
/* Formats kernels, copies, waits, allocations, samples and source files. */
#include "collector-lib/trace/trace_records.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collector-lib/core/record_parts.h"
#include "schema/records.h"

static void open_row(struct text *out, int64_t value)
{
    text_append(out, "[", 1);
    text_i64(out, value);
}

static void close_row(struct text *out)
{
    text_append(out, "]", 1);
}

static void comma_u64(struct text *out, uint64_t value)
{
    text_append(out, ",", 1);
    text_u64(out, value);
}

void row_kernel(struct text *out, int64_t base_ns, const struct trace_kernel *k,
                struct kernel_refs refs)
{
    open_row(out, k->start_ns - base_ns);
    comma_u64(out, refs.kernel_id);
    comma_u64(out, k->stream);
    record_comma(out, k->end_ns - k->start_ns);
    comma_u64(out, k->correlation);
    comma_u64(out, k->dynamic_shared_bytes);
    comma_u64(out, k->registers);
    text_puts(out, refs.detail_correlation == k->correlation ? ",1" : ",0");
    comma_u64(out, refs.external_kind);
    comma_u64(out, refs.external_id);
    comma_u64(out, k->device);
    comma_u64(out, refs.detail_correlation);
    comma_u64(out, refs.scope_instance);
    close_row(out);
}

void row_copy(struct text *out, int64_t base_ns, const struct trace_copy *c,
              uint64_t scope_instance)
{
    open_row(out, c->start_ns - base_ns);
    comma_u64(out, c->stream);
    record_comma(out, c->end_ns - c->start_ns);
    comma_u64(out, c->bytes);
    comma_u64(out, c->kind);
    comma_u64(out, c->correlation);
    comma_u64(out, c->device);
    comma_u64(out, scope_instance);
    close_row(out);
}

void row_wait(struct text *out, int64_t base_ns, const struct trace_wait *w,
              uint32_t function_id)
{
    open_row(out, w->start_ns - base_ns);
    record_comma(out, w->end_ns - w->start_ns);
    comma_u64(out, w->type);
    comma_u64(out, w->stream);
    comma_u64(out, w->event);
    comma_u64(out, w->context);
    comma_u64(out, w->correlation);
    comma_u64(out, function_id);
    close_row(out);
}

void row_allocation(struct text *out, int64_t base_ns, const struct trace_memory *m)
{
    open_row(out, m->at_ns - base_ns);
    comma_u64(out, m->duration_ns);
    comma_u64(out, m->operation);
    comma_u64(out, m->kind);
    comma_u64(out, m->address);
    comma_u64(out, m->bytes);
    comma_u64(out, m->device);
    comma_u64(out, m->stream);
    comma_u64(out, m->correlation);
    close_row(out);
}

void row_sample(struct text *out, int64_t base_ns, const struct trace_sample *s,
                uint32_t function_id, uint32_t metric_id, uint32_t file_id)
{
    open_row(out, s->at_ns - base_ns);
    text_puts(out, ",0");
    comma_u64(out, s->device);
    comma_u64(out, function_id);
    comma_u64(out, s->pc_offset);
    comma_u64(out, metric_id);
    comma_u64(out, s->samples);
    comma_u64(out, s->stall);
    text_puts(out, ",0,0");
    comma_u64(out, file_id);
    comma_u64(out, s->line);
    close_row(out);
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
    text_printf(out,
                ",\"occupancy\":%.6f,\"reg_occupancy\":%.6f,\"smem_occupancy\":%.6f"
                ",\"warp_occupancy\":%.6f,\"block_occupancy\":%.6f"
                ",\"limiting_resource\":\"%s\",\"max_active_blocks\":%u",
                o->all, o->registers, o->shared, o->warps, o->blocks, o->limiting,
                o->max_active_blocks);
    text_printf(out,
                ",\"local_mem_total_bytes\":%" PRIu64 ",\"local_mem_per_thread_bytes\":"
                "%" PRIu32 ",\"cache_config_requested\":%u,\"cache_config_executed\":%u"
                ",\"shared_mem_executed_bytes\":%" PRIu32 ",\"user_scope\":",
                k->local_total_bytes, k->local_thread_bytes, k->cache_requested,
                k->cache_executed, k->shared_executed_bytes);
    text_json_string(out, *user_scope ? user_scope : "global");
    text_puts(out, ",\"stack_trace\":");
    text_json_string(out, stack);
    text_puts(out, ",\"per_launch\":false}\n");
}

void record_memset(struct text *out, const struct record_context *context,
                   const struct trace_set *s, const char *user_scope,
                   unsigned scope_depth)
{
    text_puts(out, "{\"type\":\"" RECORD_MEMSET "\",");
    record_who(out, context);
    text_printf(out,
                ",\"name\":\"memset\",\"platform\":\"cuda\",\"device_id\":\"%" PRIu32
                "\",\"stream_id\":\"%" PRIu32 "\",\"stack_trace\":\"\",\"user_scope\":",
                s->device, s->stream);
    text_json_string(out, user_scope);
    text_printf(out,
                ",\"scope_depth\":%u,\"start_ns\":%" PRId64 ",\"end_ns\":%" PRId64
                ",\"api_start_ns\":0,\"api_exit_ns\":0,\"corr_id\":%" PRIu32
                ",\"bytes\":%" PRIu64 "}\n",
                scope_depth, s->start_ns + context->anchor_ns,
                s->end_ns + context->anchor_ns, s->correlation, s->bytes);
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
        char *copy = strndup(line, size);
        text_puts(out, line == bytes ? "" : ",");
        text_json_string(out, copy ? copy : "");
        free(copy);
        line += size + 1;
    }
    text_puts(out, "]}\n");
}
