/* SPDX-License-Identifier: Apache-2.0 */
/* Where the agent's log lines go: stderr, as text or as one JSON object a line. Of one
 * kind of warning at most some are written in ten seconds; how many were not is said. */
#ifndef GPUFL_AGENT_LOG_SINK_H
#define GPUFL_AGENT_LOG_SINK_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"

#define LOG_SINK_EVENTS_MAX 64u
#define LOG_SINK_BURST      20u /* lines of one event in a window */
#define LOG_SINK_WINDOW_MS  10000u
#define LOG_SINK_JSON_MAX   4096u

enum log_sink_format { LOG_SINK_TEXT, LOG_SINK_JSON };

struct log_sink {
    enum log_sink_format format;
    pthread_mutex_t lock;
    struct {
        char event[48];
        uint64_t since_ms;
        unsigned lines;
        unsigned dropped;
    } at[LOG_SINK_EVENTS_MAX];
    unsigned used;
};

void log_sink_init(struct log_sink *sink, enum log_sink_format format);

void log_sink_set_format(struct log_sink *sink, enum log_sink_format format);

/** The `write` of a struct log whose `arg` is the sink. From any thread. */
void log_sink_write(void *sink, enum log_level level, const char *line);

/** Says what was dropped so far; for the end. */
void log_sink_flush(struct log_sink *sink);

/** `level event key=value key="text"…` as a JSON object with the time \p wall_ms.
 *  \return its length; what does not fit is left out, the object is whole. */
size_t log_sink_json(const char *line, int64_t wall_ms, char out[LOG_SINK_JSON_MAX]);

#endif
