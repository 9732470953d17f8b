/* SPDX-License-Identifier: Apache-2.0 */
/* The capture_capabilities record: honest about what was not collected. */
#include <inttypes.h>
#include <stdio.h>

#include "collector-lib/records.h"

static const char *const wire_engine[] = {
    "nvidia.none",           "nvidia.trace",
    "nvidia.pc_sampling",    "nvidia.sass_metrics",
    "nvidia.range_profiler", "nvidia.pc_sampling_with_sass",
    "nvidia.pm_sampling",    "nvidia.range_profiler_kernel_replay",
};

static void feature(struct text *out, const char *name, bool requested,
                    const char *status, const char *reason)
{
    text_printf(out,
                "{\"feature\":\"%s\",\"requested\":%s,\"status\":\"%s\",\"mode\":\"\","
                "\"reason_code\":\"%s\",\"message\":\"\"},",
                name, requested ? "true" : "false", status, reason);
}

/* What only an engine above Monitor could have collected. */
static void not_run(struct text *out, const char *name, bool requested)
{
    feature(out, name, requested, requested ? "skipped" : "not_requested",
            requested ? "engine_monitor" : "");
}

void record_capabilities(struct text *out, const struct record_context *context,
                         const struct settings *s, uint64_t dropped, int64_t mono_ns)
{
    char reason[48] = "";
    bool above = s->engine != GPUFL_ENGINE_MONITOR;
    if (dropped) {
        snprintf(reason, sizeof reason, "ring_full:%" PRIu64, dropped);
    }
    text_printf(out,
                "{\"version\":1,\"type\":\"capture_capabilities\",\"session_id\":\"%s\","
                "\"ts_ns\":%" PRId64 ",\"requested_engine\":\"%s\","
                "\"selected_engine\":\"nvidia.none\",\"capabilities\":[",
                context->session_id, mono_ns + context->anchor_ns,
                wire_engine[s->engine]);
    not_run(out, "kernel_events", above);
    not_run(out, "memcpy_activity", above);
    not_run(out, "sync_activity", s->synchronization);
    not_run(out, "memory_activity", s->memory_tracking);
    not_run(out, "graph_activity", s->cuda_graphs);
    not_run(out, "external_correlation", s->external_correlation);
    not_run(out, "source_correlation", s->source_collection);
    not_run(out, "stack_traces", s->stack_trace);
    feature(out, "scope_attribution", true, dropped ? "partial" : "collected", reason);
    out->len--; /* the last comma */
    text_puts(out, "]}\n");
}
