/* SPDX-License-Identifier: Apache-2.0 */
/* Formats capture_capabilities: for each feature whether it was requested, whether it
 * ran, and what is missing. */
#include "collector-lib/writer/capabilities.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "schema/records.h"

#define NO_CALLBACKS "no_callbacks"

struct feature {
    const char *name;
    bool requested;
    const char *status;
    const char *mode;
    const char *reason;
    const char *message;
};

static void write_feature(struct text *out, const struct feature *f)
{
    text_printf(out,
                "{\"feature\":\"%s\",\"requested\":%s,\"status\":\"%s\",\"mode\":\"%s\","
                "\"reason_code\":\"%s\",\"message\":",
                f->name, f->requested ? "true" : "false", f->status, f->mode, f->reason);
    text_json_string(out, f->message);
    text_puts(out, "},");
}

/* A kind of record that the tracer collects on request. */
static struct feature traced_feature(const struct tracing *t, const char *name,
                                     bool requested, uint64_t records)
{
    const char *mode = t->profiler.runs == GPUFL_ENGINE_MONITOR ? "" : "cupti_activity";
    struct feature f = {
        .name = name, .requested = requested, .mode = "", .reason = "", .message = ""};
    if (!requested) {
        f.status = "not_requested";
    } else if (!*mode) {
        f.status = "skipped";
        f.reason = "engine_monitor";
        f.message = t->profiler.why;
    } else {
        f.mode = mode;
        f.status = records ? "collected" : "enabled_no_data";
    }
    return f;
}

/* What the callbacks of CUPTI give. */
static struct feature callback_feature(const struct tracing *t, const char *name,
                                       bool requested, uint64_t records)
{
    struct feature f = traced_feature(t, name, requested, records);
    if (*f.mode) {
        f.mode = "cupti_callbacks";
    }
    if (*f.mode && t->status.silent) {
        f.status = "partial";
        f.reason = NO_CALLBACKS;
        f.message = "CUPTI callbacks could not be enabled";
    }
    return f;
}

/* Reports \p count as missing. \p reason must stay valid until the feature is written. */
static void count_missing(struct feature *f, char *reason, size_t size, const char *why,
                          uint64_t count)
{
    snprintf(reason, size, "%s:%" PRIu64, why, count);
    f->status = "partial";
    f->reason = reason;
}

static struct feature stack_feature(const struct tracing *t, bool requested,
                                    const struct losses *losses, char *reason,
                                    size_t size)
{
    struct feature f = callback_feature(t, "stack_traces", requested, t->log.stacks);
    if (*f.mode && losses->count[LOSS_STACKS]) {
        count_missing(&f, reason, size, "no_room", losses->count[LOSS_STACKS]);
    }
    return f;
}

static struct feature source_feature(const struct tracing *t, bool requested,
                                     char *reason, size_t size)
{
    struct feature f = traced_feature(t, "source_correlation", requested, t->log.files);
    if (*f.mode && t->status.modules_dropped) {
        count_missing(&f, reason, size, "no_room", t->status.modules_dropped);
        f.message = "line tables of this many modules were dropped: out of space";
    }
    return f;
}

static struct feature wait_feature(const struct tracing *t, bool requested,
                                   const struct losses *losses, char *reason, size_t size)
{
    struct feature f = callback_feature(t, "sync_activity", requested, t->log.waits);
    if (*f.mode && losses->count[LOSS_WAITS]) {
        count_missing(&f, reason, size, "ring_full", losses->count[LOSS_WAITS]);
    }
    return f;
}

static struct feature scope_feature(const struct tracing *t, const struct losses *losses,
                                    char *reason, size_t size)
{
    uint64_t dropped = losses->count[LOSS_SCOPES] + losses->count[LOSS_CALLS];
    uint64_t without = losses->count[LOSS_NO_MEMORY];
    struct feature f = {"scope_attribution", true, "collected", "", "", ""};
    if (t->status.silent) {
        f.status = "partial";
        f.reason = NO_CALLBACKS;
        f.message = "CUPTI callbacks could not be enabled: kernels have no scope";
    } else if (dropped) {
        count_missing(&f, reason, size, "ring_full", dropped);
    } else if (without) {
        count_missing(&f, reason, size, "no_memory", without);
    }
    return f;
}

#define REASON_TEXT 64

/* Rows of the feature may be in lines that were lost. */
static void write_with_lines(struct text *out, struct feature f, uint64_t lines)
{
    char reason[REASON_TEXT];
    bool seems_whole =
        strcmp(f.status, "collected") == 0 || strcmp(f.status, "enabled_no_data") == 0;
    if (lines && seems_whole) {
        count_missing(&f, reason, sizeof reason, "lines_lost", lines);
        f.message = "this many lines of the channel could not be written";
    }
    write_feature(out, &f);
}

static void write_kernels(struct text *out, const struct tracing *t, bool above,
                          const struct losses *losses)
{
    const struct tracer_status *s = &t->status;
    struct feature f = traced_feature(t, "kernel_events", above, t->log.kernels);
    char reason[64];
    char message[160];
    uint64_t lost = s->dropped + s->incomplete + s->unknown;
    if (above && s->lost && *f.mode) {
        f.status = "partial";
        f.reason = "cupti_failed";
        f.message = s->pc_sampling_why;
    } else if (above && lost && *f.mode) {
        count_missing(&f, reason, sizeof reason, "records_lost", lost);
        snprintf(message, sizeof message,
                 "%" PRIu64 " dropped for lack of a buffer, %" PRIu64
                 " kernels had not ended, %" PRIu64 " could not be read",
                 s->dropped, s->incomplete, s->unknown);
        f.message = message;
    } else if (above && losses->count[LOSS_KERNEL_NAMES] && *f.mode) {
        count_missing(&f, reason, sizeof reason, "names_lost",
                      losses->count[LOSS_KERNEL_NAMES]);
        f.message = "there was no room for the names of this many kernels";
    } else if (above && s->foreign && *f.mode) {
        count_missing(&f, reason, sizeof reason, "foreign_buffers", s->foreign);
        f.message = "CUPTI returned this many buffers of another profiler; the records "
                    "in them were not read";
    } else if (above && s->unrecorded && *f.mode) {
        snprintf(reason, sizeof reason, "launches_without_record:%" PRIu64,
                 s->unrecorded);
        f.reason = reason;
        f.message = "they had not ended, were captured into a graph, or another "
                    "profiler took CUPTI's buffers meanwhile";
    }
    write_with_lines(out, f, losses->lines[CHANNEL_DEVICE]);
}

static void write_samples(struct text *out, const struct tracing *t, bool requested,
                          uint64_t lines)
{
    const struct tracer_status *s = &t->status;
    struct feature f = {.name = "pc_sampling",
                        .requested = requested,
                        .mode = "",
                        .reason = "",
                        .message = "",
                        .status = "not_requested"};
    char reason[64];
    if (requested && t->profiler.runs != GPUFL_ENGINE_PC_SAMPLING) {
        f.status = "skipped";
        f.reason = "engine_below";
        f.message = t->profiler.why;
    } else if (requested) {
        f.mode = "cupti_continuous";
        f.status = s->samples ? "collected" : "enabled_no_data";
        f.message = s->pc_sampling_why;
    }
    if (s->samples_dropped) {
        count_missing(&f, reason, sizeof reason, "samples_dropped", s->samples_dropped);
    }
    write_with_lines(out, f, lines);
}

void record_capabilities(struct text *out, const struct record_context *context,
                         const struct settings *s, const struct tracing *t,
                         const struct losses *losses, int64_t mono_ns)
{
    char reason[48] = "";
    char overflowed[48], crowded[48], waits[48];
    bool above = s->engine != GPUFL_ENGINE_MONITOR;
    const struct feature feature[] = {
        traced_feature(t, "memcpy_activity", above, t->log.copies + t->log.sets),
        wait_feature(t, s->synchronization, losses, waits, sizeof waits),
        traced_feature(t, "memory_activity", s->memory_tracking, t->log.memories),
        traced_feature(t, "graph_activity", s->cuda_graphs, t->log.graphs),
        callback_feature(t, "external_correlation", s->external_correlation,
                         t->log.externals),
        source_feature(t, s->source_collection, crowded, sizeof crowded),
        stack_feature(t, s->stack_trace, losses, overflowed, sizeof overflowed),
        scope_feature(t, losses, reason, sizeof reason),
    };
    static const enum channel channel[] = {CHANNEL_DEVICE, CHANNEL_SCOPE,  CHANNEL_SCOPE,
                                           CHANNEL_SCOPE,  CHANNEL_DEVICE, CHANNEL_SASS,
                                           CHANNEL_DEVICE, CHANNEL_SCOPE};
    _Static_assert(sizeof channel / sizeof channel[0] ==
                       sizeof feature / sizeof feature[0],
                   "one each");
    record_begin(out, context, 1, RECORD_CAPABILITIES);
    text_printf(out,
                ",\"ts_ns\":%" PRId64 ",\"requested_engine\":\"%s\","
                "\"selected_engine\":\"%s\",\"capabilities\":[",
                mono_ns + context->anchor_ns, profiler_wire_name(s->engine),
                profiler_wire_name(t->profiler.runs));
    write_kernels(out, t, above, losses);
    for (size_t i = 0; i < sizeof feature / sizeof feature[0]; i++) {
        write_with_lines(out, feature[i], losses->lines[channel[i]]);
    }
    write_samples(out, t, profiler_samples(s->engine), losses->lines[CHANNEL_SCOPE]);
    out->len--; /* the last comma */
    text_puts(out, "],\"losses\":");
    losses_json(losses, out);
    text_puts(out, "}\n");
}
