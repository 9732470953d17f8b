/* SPDX-License-Identifier: Apache-2.0 */
/* Where the agent's log lines go: stderr, as text or as one JSON object a line. Of one
 * event and user at most 20 lines are written in ten seconds, and the others are counted:
 * most events can be caused by anybody who may make a directory. All lines of level debug
 * are written. */
#ifndef GPUFL_AGENT_LOG_SINK_H
#define GPUFL_AGENT_LOG_SINK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/text.h"

#define LOG_SINK_EVENTS_MAX 1024u
#define LOG_SINK_BURST      20u /* lines of one event and user in a window */
#define LOG_SINK_WINDOW_MS  10000u

/** Lines of one event, about one user, in the present window. */
struct log_sink_event {
    char name[48];
    uint32_t about;
    uint64_t since_ms;
    unsigned lines;
    unsigned dropped;
    enum log_level dropped_level; /**< the most severe of these */
};

struct log_sink {
    uint64_t (*now_ms)(void);
    /** Writes a finished line; log_to_stderr, or a test's. */
    void (*emit)(void *arg, enum log_level level, const char *line);
    void *emit_arg;
    _Atomic uint32_t about; /**< for struct log */
    pthread_mutex_t lock;   /* of what follows */
    bool json;
    struct text line; /* as JSON */
    struct log_sink_event event[LOG_SINK_EVENTS_MAX];
    unsigned events;
};

void log_sink_init(struct log_sink *sink, bool json);

void log_sink_set_json(struct log_sink *sink, bool json);

/** The `write` of a struct log whose `arg` is the sink. From any thread. */
void log_sink_write(void *sink, enum log_level level, const char *line);

/** Logs how many lines of each event and user were dropped so far; for the end. */
void log_sink_flush(struct log_sink *sink);

void log_sink_fini(struct log_sink *sink);

#endif
