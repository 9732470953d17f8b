/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the engine that was asked for, or the next one below it that works here. */
#include "collector-lib/trace/profiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collector-lib/core/fork_guard.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/stacks.h"
#include "collector-lib/core/thread.h"
#include "collector-lib/trace/tracer_load.h"

/* CUPTI clears a buffer on the thread that needs it next: of buffers of 1 MiB, one launch
 * in about 5,000 waits 90 µs for it (H200, CUPTI 13.0.1). With 64 KiB one in about 300
 * waits, 40 µs at most; losses and overhead were the same. */
#define BUFFERS_MAX 64u

/* The ladder. Engines that are not implemented run a lower one. */
static const struct rung {
    const char *wire;
    enum gpufl_profiling_engine runs;
} ladder[] = {
    [GPUFL_ENGINE_MONITOR] = {"nvidia.none", GPUFL_ENGINE_MONITOR},
    [GPUFL_ENGINE_TRACE] = {"nvidia.trace", GPUFL_ENGINE_TRACE},
    [GPUFL_ENGINE_PC_SAMPLING] = {"nvidia.pc_sampling", GPUFL_ENGINE_PC_SAMPLING},
    [GPUFL_ENGINE_SASS_METRICS] = {"nvidia.sass_metrics", GPUFL_ENGINE_PC_SAMPLING},
    [GPUFL_ENGINE_RANGE_PROFILER] = {"nvidia.range_profiler", GPUFL_ENGINE_PC_SAMPLING},
    [GPUFL_ENGINE_DEEP] = {"nvidia.pc_sampling_with_sass", GPUFL_ENGINE_PC_SAMPLING},
    [GPUFL_ENGINE_PM_SAMPLING] = {"nvidia.pm_sampling", GPUFL_ENGINE_PC_SAMPLING},
    [GPUFL_ENGINE_RANGE_PROFILER_KERNEL_REPLAY] = {"nvidia.range_profiler_kernel_replay",
                                                   GPUFL_ENGINE_PC_SAMPLING},
};

const char *profiler_wire_name(enum gpufl_profiling_engine engine)
{
    return ladder[engine].wire;
}

bool profiler_samples(enum gpufl_profiling_engine engine)
{
    return ladder[engine].runs == GPUFL_ENGINE_PC_SAMPLING;
}

static struct tracer_config config_of(const struct settings *s, bool pc_sampling,
                                      const struct tracer_listener *listener)
{
    return (struct tracer_config){.pc_sampling = pc_sampling,
                                  .synchronization = s->synchronization,
                                  .memory = s->memory_tracking,
                                  .graphs = s->cuda_graphs,
                                  .external_correlation = s->external_correlation,
                                  .source = s->source_collection,
                                  .stacks = s->stack_trace,
                                  .buffer_bytes = s->trace_buffer_bytes,
                                  .buffers_max = BUFFERS_MAX,
                                  .sample_buffer_bytes = s->sample_buffer_bytes,
                                  .listener = listener};
}

/* Starts Trace or PC sampling; Monitor if neither starts. */
static void start_tracer(struct profiler *p, const struct settings *settings,
                         const struct tracer_listener *listener)
{
    const struct tracer *tracer = tracer_load(p->why, sizeof p->why);
    if (settings->stack_trace) {
        stacks_prepare();
    }
    struct tracer_config config =
        config_of(settings, p->runs == GPUFL_ENGINE_PC_SAMPLING, listener);
    if (!tracer || !tracer->start(&config, p->why, sizeof p->why)) {
        p->runs = GPUFL_ENGINE_MONITOR;
        return;
    }
    p->tracer = tracer;
    struct tracer_status status;
    tracer->status(&status);
    if (status.pc_sampling_why[0]) {
        p->runs = GPUFL_ENGINE_TRACE;
        snprintf(p->why, sizeof p->why, "%s", status.pc_sampling_why);
    }
}

/* Not while a driver hangs that an earlier session loads: what we load would wait for it.
 * Threads that CUPTI makes as it starts are no threads of the job, whose end it need not
 * wait for, and take none of its signals. */
static void start_tracer_alone(struct profiler *p, const struct settings *settings,
                               const struct tracer_listener *listener)
{
    struct thread_guise was;
    if (fork_guard_load_soon()) {
        thread_pose(THREAD_TRACE, &was);
        start_tracer(p, settings, listener);
        thread_resume(&was);
        fork_guard_loaded();
    } else {
        snprintf(p->why, sizeof p->why,
                 "the GPU driver, which an earlier session loads, has not returned");
        p->runs = GPUFL_ENGINE_MONITOR;
    }
}

/* The highest one that is built and that the operator allows. */
static void choose(struct profiler *p, const struct settings *settings)
{
    p->runs = ladder[p->asked].runs;
    if (p->runs > settings->max_engine) {
        snprintf(p->why, sizeof p->why, "GPUFL_MAX_ENGINE is %s",
                 settings_engine_name(settings->max_engine));
        p->runs = ladder[settings->max_engine].runs;
    } else if (p->runs != p->asked) {
        snprintf(p->why, sizeof p->why, "not implemented yet");
    }
}

/* Of what runs: what it cannot record here. Not on the stack, of which the thread that
 * calls gpufl_init may have little. */
static void report_refused(const struct profiler *p)
{
    struct tracer_status *status = calloc(1, sizeof *status);
    struct text all = {0};
    if (status) {
        p->tracer->status(status);
    }
    for (size_t part = 0; status && part < TRACER_PARTS; part++) {
        const char *why = status->refused_why[part];
        text_printf(&all, "%s%s", *why && all.len ? "; " : "", why);
    }
    text_append(&all, "", 1);
    if (all.len > 1 && !all.failed) {
        library_log(GPUFL_LOG_WARNING, "profiling engine %s is incomplete: %s",
                    settings_engine_name(p->runs), all.data);
    }
    text_fini(&all);
    free(status);
}

void profiler_start(struct profiler *p, const struct settings *settings,
                    const struct tracer_listener *listener)
{
    memset(p, 0, sizeof *p);
    p->asked = settings->engine;
    choose(p, settings);
    if (p->runs != GPUFL_ENGINE_MONITOR && settings->backend == GPUFL_BACKEND_AMD) {
        snprintf(p->why, sizeof p->why, "AMD GPUs have Monitor only");
        p->runs = GPUFL_ENGINE_MONITOR;
    } else if (p->runs != GPUFL_ENGINE_MONITOR &&
               settings->backend == GPUFL_BACKEND_NONE) {
        snprintf(p->why, sizeof p->why, "backend None opens no GPU library");
        p->runs = GPUFL_ENGINE_MONITOR;
    } else if (p->runs != GPUFL_ENGINE_MONITOR) {
        start_tracer_alone(p, settings, listener);
    }
    if (p->why[0]) {
        library_log(GPUFL_LOG_WARNING,
                    "profiling engine %s is not available: %s; %s runs instead",
                    settings_engine_name(p->asked), p->why,
                    settings_engine_name(p->runs));
    }
    if (p->tracer) {
        report_refused(p);
    }
}

void profiler_stop(struct profiler *p)
{
    if (p->tracer) {
        p->tracer->stop();
        p->tracer = NULL;
    }
}
