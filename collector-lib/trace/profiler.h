/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder of profiling engines: which one was asked for, which one runs, and why. */
#ifndef GPUFL_COLLECTOR_TRACE_PROFILER_H
#define GPUFL_COLLECTOR_TRACE_PROFILER_H

#include "collector-lib/core/settings.h"
#include "collector-lib/trace/tracer.h"

/** What runs. Zero is Monitor. */
struct profiler {
    enum gpufl_profiling_engine asked;
    enum gpufl_profiling_engine runs;
    const struct tracer *tracer; /**< started; NULL below Trace */
    char why[512]; /**< why a lower engine runs; "" = the one that was asked for runs */
};

/** Starts the engine that \p settings ask for, or the highest one below it that works
 * here; stderr then says which, and why. \p listener outlives the profiler. */
void profiler_start(struct profiler *profiler, const struct settings *settings,
                    const struct tracer_listener *listener);

/** Stops what runs; harmless on Monitor. */
void profiler_stop(struct profiler *profiler);

/** True if \p engine, when requested, samples instructions. */
bool profiler_samples(enum gpufl_profiling_engine engine);

/** The name in records, such as `nvidia.trace`. */
const char *profiler_wire_name(enum gpufl_profiling_engine engine);

#endif
