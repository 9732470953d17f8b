/* SPDX-License-Identifier: Apache-2.0 */
/* Formats capture_capabilities: for each feature whether it was requested, whether it
 * ran, and what is missing. */
#include "collector-lib/writer/capabilities.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collector-lib/writer/losses_text.h"
#include "schema/records.h"

#define NO_CALLBACKS  "no_callbacks"
#define REASON_BYTES  256
#define MESSAGE_BYTES 1024

struct feature {
    const char *name;
    bool requested;
    const char *status;
    const char *mode;
    char reason[REASON_BYTES];   /* codes, by commas */
    char message[MESSAGE_BYTES]; /* sentences, by semicolons */
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

static void join(char *text, size_t size, const char *between, const char *more)
{
    size_t len = strlen(text);
    if (*more) {
        snprintf(text + len, size - len, "%s%s", len ? between : "", more);
    }
}

static void give_reason(struct feature *f, const char *code, const char *message)
{
    join(f->reason, sizeof f->reason, ",", code);
    join(f->message, sizeof f->message, "; ", message);
}

/* Something of what runs is missing. */
static void miss(struct feature *f, const char *code, const char *message)
{
    f->status = "partial";
    give_reason(f, code, message);
}

static void miss_count(struct feature *f, const char *code, uint64_t count,
                       const char *message)
{
    char counted[64];
    snprintf(counted, sizeof counted, "%s:%" PRIu64, code, count);
    if (count) {
        miss(f, counted, message);
    }
}

/* A kind of record that the tracer collects on request. */
static struct feature traced_feature(const struct tracing *t, const char *name,
                                     bool requested, uint64_t records)
{
    struct feature f = {.name = name, .requested = requested, .mode = ""};
    if (!requested) {
        f.status = "not_requested";
    } else if (t->profiler.runs == GPUFL_ENGINE_MONITOR) {
        f.status = "skipped";
        give_reason(&f, "engine_monitor", t->profiler.why);
    } else {
        f.mode = "cupti_activity";
        f.status = records ? "collected" : "enabled_no_data";
    }
    return f;
}

/* Of those that CUPTI collects. */
static void miss_records(struct feature *f, const struct tracer_status *s)
{
    miss_count(f, "fetches_failed", s->fetches_failed, s->fetch_why);
    miss_count(f, "buffers_unread", s->buffers_unread,
               "the rest of this many buffers could not be read");
    miss_count(f, "foreign_buffers", s->foreign,
               "CUPTI returned this many buffers of another profiler; the records in "
               "them were not read");
}

/* Records that CUPTI may refuse by themselves: \p first to \p last. */
static struct feature record_feature(const struct tracing *t, const char *name,
                                     bool requested, uint64_t records,
                                     enum tracer_part first, enum tracer_part last)
{
    struct feature f = traced_feature(t, name, requested, records);
    static const char *const code[TRACER_PARTS] = {
        "copies_refused", "sets_refused", "allocations_refused", "graphs_refused"};
    unsigned refused = 0;
    for (unsigned part = first; *f.mode && part <= last; part++) {
        const char *why = t->status.refused_why[part];
        if (*why) {
            miss(&f, code[part], why);
            refused++;
        }
    }
    if (refused > last - first) { /* all of it */
        f.status = "skipped";
        f.mode = "";
    } else if (*f.mode) {
        miss_count(&f, "records_lost", t->status.dropped,
                   "this many records, of any kind, were dropped for lack of a buffer");
        miss_records(&f, &t->status);
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
    if (*f.mode && *t->status.refused_why[TRACER_CALLBACKS]) {
        miss(&f, NO_CALLBACKS, t->status.refused_why[TRACER_CALLBACKS]);
    }
    return f;
}

static struct feature stack_feature(const struct tracing *t, bool requested,
                                    const struct losses *losses)
{
    struct feature f = callback_feature(t, "stack_traces", requested, t->log.stacks);
    if (*f.mode) {
        miss_count(&f, "no_room", losses->count[LOSS_STACKS], "");
    }
    return f;
}

static struct feature source_feature(const struct tracing *t, bool requested)
{
    struct feature f = traced_feature(t, "source_correlation", requested, t->log.files);
    if (*f.mode) {
        miss_count(&f, "no_room", t->status.modules_dropped,
                   "line tables of this many modules were dropped: out of space");
        miss_count(&f, "cut", t->log.files_cut,
                   "the text of this many source files is cut: they have more than "
                   "1 MiB");
        miss_count(&f, "outside_roots", t->log.files_outside,
                   "the text of this many source files was not taken: they do not lie "
                   "below source_roots (GPUFL_SOURCE_ROOTS)");
    }
    return f;
}

static struct feature wait_feature(const struct tracing *t, bool requested,
                                   const struct losses *losses)
{
    struct feature f = callback_feature(t, "sync_activity", requested, t->log.waits);
    if (*f.mode) {
        miss_count(&f, "ring_full", losses->count[LOSS_WAITS], "");
    }
    return f;
}

static struct feature scope_feature(const struct tracing *t, const struct losses *losses)
{
    struct feature f = {.name = "scope_attribution",
                        .requested = true,
                        .status = "collected",
                        .mode = ""};
    if (*t->status.refused_why[TRACER_CALLBACKS]) {
        miss(&f, NO_CALLBACKS, "kernels have no scope");
        give_reason(&f, "", t->status.refused_why[TRACER_CALLBACKS]);
    }
    miss_count(&f, "ring_full", losses->count[LOSS_SCOPES] + losses->count[LOSS_CALLS],
               "");
    miss_count(&f, "no_memory", losses->count[LOSS_NO_MEMORY], "");
    miss_count(&f, "paths_lost", losses->count[LOSS_SCOPE_PATHS],
               "the path of this many scopes was cut, or there was no room for it");
    miss_count(&f, "calls_forgotten", losses->count[LOSS_FORGOTTEN],
               "this many kernels, copies and sets ended too many calls later");
    return f;
}

/* Rows of the feature may be in lines that were lost. */
static void write_with_lines(struct text *out, struct feature f, uint64_t lines)
{
    if (strcmp(f.status, "skipped") != 0 && strcmp(f.status, "not_requested") != 0) {
        miss_count(&f, "lines_lost", lines,
                   "this many lines of the channel could not be written");
    }
    write_feature(out, &f);
}

static void miss_kernels(struct feature *f, const struct tracer_status *s,
                         const struct losses *losses)
{
    char message[160];
    if (s->lost) {
        miss(f, "cupti_failed", s->pc_sampling_why);
    }
    snprintf(message, sizeof message,
             "%" PRIu64 " dropped for lack of a buffer, %" PRIu64 " had not ended",
             s->dropped, s->incomplete);
    miss_count(f, "records_lost", losses->count[LOSS_RECORDS], message);
    miss_records(f, s);
    miss_count(f, "names_lost", losses->count[LOSS_KERNEL_NAMES],
               "there was no room for the names of this many kernels");
    miss_count(f, "launches_without_record", losses->count[LOSS_LAUNCHES],
               "this many launches have no kernel: they were captured into a graph, had "
               "not ended, another profiler took CUPTI's buffers meanwhile, a fetch "
               "failed, or a buffer could not be read");
}

static void write_kernels(struct text *out, const struct tracing *t, bool above,
                          const struct losses *losses)
{
    struct feature f = traced_feature(t, "kernel_events", above, t->log.kernels);
    if (*f.mode) {
        miss_kernels(&f, &t->status, losses);
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
                        .status = "not_requested"};
    if (requested && t->profiler.runs != GPUFL_ENGINE_PC_SAMPLING) {
        f.status = "skipped";
        give_reason(&f, "engine_below", t->profiler.why);
    } else if (requested) {
        f.mode = "cupti_continuous";
        f.status = "collected";
        give_reason(&f, "", s->pc_sampling_why);
        miss_count(&f, "contexts_unsampled", s->contexts_unsampled, "");
        f.status = s->samples ? f.status : "enabled_no_data";
    }
    miss_count(&f, "samples_dropped", s->samples_dropped, "");
    write_with_lines(out, f, lines);
}

void record_capabilities(struct text *out, const struct record_context *context,
                         const struct settings *s, const struct tracing *t,
                         const struct losses *losses, int64_t mono_ns)
{
    bool above = s->engine != GPUFL_ENGINE_MONITOR;
    const struct feature feature[] = {
        record_feature(t, "memcpy_activity", above, t->log.copies + t->log.sets,
                       TRACER_COPIES, TRACER_SETS),
        wait_feature(t, s->synchronization, losses),
        record_feature(t, "memory_activity", s->memory_tracking, t->log.memories,
                       TRACER_ALLOCATIONS, TRACER_ALLOCATIONS),
        record_feature(t, "graph_activity", s->cuda_graphs, t->log.graphs, TRACER_GRAPHS,
                       TRACER_GRAPHS),
        callback_feature(t, "external_correlation", s->external_correlation,
                         t->log.externals),
        source_feature(t, s->source_collection),
        stack_feature(t, s->stack_trace, losses),
        scope_feature(t, losses),
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
