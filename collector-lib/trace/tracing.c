/* SPDX-License-Identifier: Apache-2.0 */
#include "collector-lib/trace/tracing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_MS 1000000

void tracing_open(struct tracing *t, const struct engine *engine,
                  const struct record_context *context, struct summary *summary,
                  bool source)
{
    t->engine = *engine;
    if (t->engine.tracer && !trace_log_init(&t->log, context, summary, source)) {
        engine_stop(&t->engine);
        t->engine.runs = GPUFL_ENGINE_MONITOR;
        snprintf(t->engine.why, sizeof t->engine.why, "out of memory");
    }
}

/* PC sampling begins with a context, perhaps long after the session. */
static void say_why_not_sampled(struct tracing *t)
{
    if (t->status.pc_sampling_why[0] && !t->said &&
        t->engine.runs == GPUFL_ENGINE_PC_SAMPLING) {
        t->said = true;
        fprintf(stderr, "[GPUFL] PC sampling%s: %s\n",
                t->status.samples ? "" : " does not run", t->status.pc_sampling_why);
    }
}

void tracing_fetch(struct tracing *t, int64_t now_ns, bool now_or_never, bool last)
{
    if (t->engine.tracer && (now_or_never || last || now_ns >= t->next_ns)) {
        t->engine.tracer->collect(last);
        t->next_ns = now_ns + (int64_t)TRACING_BEAT_MS * NS_PER_MS;
        t->fetched = true;
    }
}

void tracing_row(struct tracing *t, const struct row *row, const struct names *names)
{
    if (t->engine.tracer) {
        trace_log_row(&t->log, row, names);
    }
}

bool tracing_deliver(struct tracing *t)
{
    if (!t->fetched) {
        return false;
    }
    struct tracer_sink sink = trace_log_sink(&t->log);
    t->fetched = false;
    trace_log_learn(&t->log);
    t->engine.tracer->deliver(&sink);
    t->engine.tracer->status(&t->status);
    say_why_not_sampled(t);
    trace_log_finish(&t->log);
    return true;
}

/* Who registers with CUPTI after us gets our records in our place. */
static void say_that_none_came(const struct tracing *t)
{
    if (t->status.unrecorded && !t->status.records) {
        fprintf(stderr,
                "[GPUFL] no kernel is recorded: CUPTI gave no record of %" PRIu64
                " launches%s%s; if another profiler has taken its buffers (PyTorch's, "
                "JAX's), run without it\n",
                t->status.unrecorded, t->status.refused ? ": " : "",
                t->status.refused ? t->status.refused : "");
    }
}

void tracing_close(struct tracing *t)
{
    if (t->engine.tracer) {
        t->engine.tracer->status(&t->status);
        say_that_none_came(t);
        engine_stop(&t->engine);
    }
    trace_log_fini(&t->log);
}
