/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder of engines: which one was asked for, which one runs, and why. */
#ifndef GPUFL_COLLECTOR_TRACE_PROFILER_H
#define GPUFL_COLLECTOR_TRACE_PROFILER_H

#include "collector-lib/core/settings.h"
#include "collector-lib/trace/tracer.h"

/** What runs. Zero is Monitor. */
struct engine {
    enum gpufl_profiling_engine asked;
    enum gpufl_profiling_engine runs;
    const struct tracer *tracer; /**< started; NULL below Trace */
    char why[512];               /**< why less runs than was asked; "" = it does not */
};

/** Starts the highest rung of what \p settings ask for that works here, and says so in
 * one sentence on stderr when it is not the one. \p listener outlives the engine. */
void engine_start(struct engine *engine, const struct settings *settings,
                  const struct tracer_listener *listener);

/** Ends what runs; harmless on Monitor. */
void engine_stop(struct engine *engine);

/** True when \p engine, as asked for, samples instructions. */
bool engine_samples(enum gpufl_profiling_engine engine);

/** As the wire spells it: `nvidia.trace`. */
const char *engine_wire_name(enum gpufl_profiling_engine engine);

#endif
