/* SPDX-License-Identifier: Apache-2.0 */
/* The writer's state, of its two files. */
#ifndef GPUFL_COLLECTOR_WRITER_WRITER_INTERNAL_H
#define GPUFL_COLLECTOR_WRITER_WRITER_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector-lib/core/spool.h"
#include "collector-lib/trace/tracing.h"
#include "collector-lib/writer/sampler.h"
#include "collector-lib/writer/session_records.h"
#include "collector-lib/writer/summary.h"
#include "collector-lib/writer/writer.h"

#define WRITER_BEAT_MS      40
#define WRITER_BUSY_BEAT_MS 5

struct writer {
    struct settings settings;
    struct session_dir dir;
    struct rings *rings;
    struct names *names;
    uint16_t generation;

    pthread_t thread;
    pthread_mutex_t lock; /* guards stopping, flush_asked, flush_done */
    pthread_cond_t wake;
    pthread_cond_t flushed;
    bool stopping;
    uint64_t flush_asked;
    uint64_t flush_done;
    /* Read by writer_stats from other threads. */
    _Atomic uint64_t pairs;
    _Atomic uint64_t samples;
    _Atomic uint64_t bytes_written;
    _Atomic uint64_t bytes_lost;

    /* From here on: the thread's own. */
    struct record_context context;
    struct sampler sampler;
    struct row_list rows;
    struct text text;
    struct tracing tracing;
    uint32_t names_written;
    uint64_t scope_batches;
    uint64_t dropped_before;
    int beat_ms;
    struct summary summary;
    struct spool spool;
    int64_t open_regions; /* scopes and phases that keep the sampler on */
    bool failure_said;
};

int64_t writer_wall_ns(const struct writer *writer);

/** Lines that open a session, and those that close it with all that was recorded. */
void writer_open_session(struct writer *writer);
void writer_close_session(struct writer *writer);

/** Rings to lines. */
void writer_drain(struct writer *writer);

/** What a tracer has told, to lines. */
void writer_write_trace(struct writer *writer);

/** Figures of devices and host, to lines, when their time has come. */
void writer_sample_if_due(struct writer *writer);

#endif
