/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's figures in the Prometheus text format. Names are gpufl_agent_*, in base
 * units,
 * `_total` for what only grows; no label has more values than a small table holds, and
 * none names a session. docs/operations.md describes each. */
#ifndef GPUFL_AGENT_METRICS_H
#define GPUFL_AGENT_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "upload/engine/engine.h"

/** What the engine does not know. */
struct metrics_agent {
    uint64_t inotify_overflows;
    bool watch_incomplete;
    double start_time_s; /**< since 1970 */
};

/** Replaces \p out by all of them. */
void metrics_write(const struct engine *engine, const struct metrics_agent *agent,
                   struct text *out);

#endif
