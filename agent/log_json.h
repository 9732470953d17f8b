/* SPDX-License-Identifier: Apache-2.0 */
/* A log line as a JSON object. */
#ifndef GPUFL_AGENT_LOG_JSON_H
#define GPUFL_AGENT_LOG_JSON_H

#include <stdint.h>

#include "base/text.h"

/** A longer line could not be written in one piece: PIPE_BUF of Linux. */
#define LOG_JSON_MAX 4095u

/** Writes `level event key=value key="text"…` to \p out as a JSON object with the time
 * \p wall_ms. Fields that would make it longer than LOG_JSON_MAX are left out; the object
 * is complete all the same, unless out->failed. */
void log_json(const char *line, int64_t wall_ms, struct text *out);

#endif
