/* SPDX-License-Identifier: Apache-2.0 */
/* Fetches the tracer's records, and reports on stderr if there are none. */
#include "collector-lib/trace/tracing.h"
#include "collector-lib/core/library_log.h"

#include <inttypes.h>
#include <stdio.h>

#define NS_PER_MS 1000000

void tracing_open(struct tracing *t, const struct profiler *profiler,
                  const struct record_context *context, struct name_times *kernel_times,
                  struct device_table *devices, const struct source_roots *source)
{
    t->profiler = *profiler;
    if (t->profiler.tracer) {
        t->log.devices.table = devices;
        t->log.devices.describe = t->profiler.tracer->device;
    }
    if (t->profiler.tracer && !trace_log_init(&t->log, context, kernel_times, source)) {
        profiler_stop(&t->profiler);
        t->profiler.runs = GPUFL_ENGINE_MONITOR;
        snprintf(t->profiler.why, sizeof t->profiler.why, "out of memory");
    }
}

/* PC sampling starts with a CUDA context, perhaps long after the session. Whether others
 * are sampled is not known yet. */
static void report_no_samples(struct tracing *t)
{
    if (t->status.pc_sampling_why[0] && !t->said &&
        t->profiler.runs == GPUFL_ENGINE_PC_SAMPLING) {
        t->said = true;
        library_log(GPUFL_LOG_WARNING, "PC sampling: %s", t->status.pc_sampling_why);
    }
}

bool tracing_fetch(struct tracing *t, int64_t now_ns, bool now_or_never, bool last)
{
    bool due = now_ns >= t->next_ns && !t->fetched;
    if (!t->profiler.tracer || !(now_or_never || last || due)) {
        return false;
    }
    t->profiler.tracer->collect(last);
    t->next_ns = now_ns + (int64_t)TRACING_BEAT_MS * NS_PER_MS;
    t->fetched = true;
    return true;
}

uint32_t tracing_path(struct tracing *t, uint32_t parent, const char *name)
{
    return t->profiler.tracer ? launches_path_below(&t->log.launches, parent, name) : 0;
}

void tracing_row(struct tracing *t, const struct row *row, uint32_t path_id)
{
    if (t->profiler.tracer) {
        trace_log_row(&t->log, row, path_id);
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
    t->profiler.tracer->deliver(&sink);
    t->profiler.tracer->status(&t->status);
    report_no_samples(t);
    trace_log_finish(&t->log);
    return true;
}

/* A profiler that registers with CUPTI after us gets our records. */
static void report_no_records(const struct tracing *t)
{
    if (t->status.fetches_failed) {
        library_log(GPUFL_LOG_WARNING, "records may be missing: %s", t->status.fetch_why);
    } else if (t->status.unrecorded && !t->status.records) {
        library_log(GPUFL_LOG_WARNING,
                    "no kernels recorded: CUPTI returned no record of %" PRIu64
                    " launches; if another profiler uses CUPTI (PyTorch's, JAX's), run "
                    "without it",
                    t->status.unrecorded);
    }
}

void tracing_abandon(struct tracing *t)
{
    t->profiler.tracer = NULL;
    t->fetched = false;
}

void tracing_close(struct tracing *t)
{
    if (t->profiler.tracer) {
        t->profiler.tracer->status(&t->status);
        report_no_records(t);
        profiler_stop(&t->profiler);
    }
    trace_log_fini(&t->log);
}
