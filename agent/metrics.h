/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's figures in the Prometheus text format:
 * https://prometheus.io/docs/instrumenting/exposition_formats/. Names are gpufl_agent_*,
 * base units, `_total` for what only grows; no label has more values than a small table
 * holds, and none names a session. docs/operations.md says what each is for. */
#ifndef GPUFL_AGENT_METRICS_H
#define GPUFL_AGENT_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upload/engine/engine.h"

/** What the engine does not know. */
struct metrics_agent {
    uint64_t inotify_overflows;
    bool watch_incomplete;
    double start_time_s; /**< since 1970 */
};

/** Writes all of them. Text that does not fit is left out by whole lines. */
void metrics_write(const struct engine *engine, const struct metrics_agent *agent,
                   char *out, size_t size);

#endif
