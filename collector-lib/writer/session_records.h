/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a session as a whole: job_start, shutdown, system_start, system_stop. */
#ifndef GPUFL_COLLECTOR_WRITER_SESSION_RECORDS_H
#define GPUFL_COLLECTOR_WRITER_SESSION_RECORDS_H

#include <stdbool.h>

#include "collector-lib/core/record_parts.h"
#include "collector-lib/sample/gpu_source.h"
#include "collector-lib/sample/host.h"

/** The devices and the host at one moment. */
struct record_state {
    const struct host *host;
    struct host_sample host_sample;
    unsigned gpus;
    const unsigned *id; /**< in the session's table */
    const struct gpu_info *info;
    const struct gpu_sample *sample;
};

void record_job_start(struct text *out, const struct record_context *context,
                      const struct record_state *state,
                      enum gpufl_profiling_engine engine, int64_t mono_ns);

/** The same \p start in a channel that has begun: readers know by it that the file is not
 * the channel's first one, whose name it may come to have. */
void record_job_start_repeated(struct text *out, const struct text *start);

void record_shutdown(struct text *out, const struct record_context *context,
                     int64_t mono_ns);

/** What record_system_mark puts into its lines. */
void record_mark_state(struct text *out, const struct record_state *state);

/** system_start (\p start) or system_stop, named \p name. */
void record_system_mark(struct text *out, const struct record_context *context,
                        const struct text *state, bool start, const char *name,
                        int64_t mono_ns);

#endif
