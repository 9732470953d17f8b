/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of a session: one thread that drains rings, samples, formats and appends. */
#ifndef GPUFL_COLLECTOR_WRITER_WRITER_H
#define GPUFL_COLLECTOR_WRITER_WRITER_H

#include <stdbool.h>

#include <gpufl/gpufl.h>

#include "collector-lib/core/names.h"
#include "collector-lib/core/ring.h"
#include "collector-lib/core/session_dir.h"
#include "collector-lib/core/settings.h"
#include "collector-lib/trace/profiler.h"

/** From writer_stop on, the GPU's driver has this long to return; then it is left alone.
 */
#define WRITER_STOP_MS 2000

/** A running writer; opaque. */
struct writer;

/** Where a writer takes rows from; borrowed until writer_stop. */
struct writer_input {
    struct rings *rings;
    struct names *names;
    uint16_t generation; /**< marks the rows of this session */
};

/** Takes over \p dir, which must stay where it is, and \p profiler and starts the thread,
 * which blocks all signals. \return GPUFL_OK, GPUFL_ERR_NOMEM or GPUFL_ERR_IO; on failure
 * \p dir is closed and \p profiler stopped. */
GPUFL_MUST gpufl_status writer_start(const struct settings *settings,
                                     const struct profiler *profiler,
                                     struct session_dir *dir,
                                     const struct writer_input *input,
                                     struct writer **out);

/** The result of a session. */
struct writer_result {
    char *report; /**< malloc'd text, NULL without memory; the caller's */
    struct gpufl_stats stats;
};

/** Drains the rings, writes the closing records, ends the thread and frees the writer,
 * then fills \p result. If \p writer is NULL, \p result is not changed. */
void writer_stop(struct writer *writer, struct writer_result *result);

/** Asks the thread to end. \return false, and says so, if it has not within
 * WRITER_STOP_MS and a second; then the writer must stay as it is. */
bool writer_end(struct writer *writer);

/** The tracer's library has ended: its last records are not fetched. Before the end. */
void writer_abandon_tracer(struct writer *writer);

/** Returns once everything that was recorded before the call is in the files. */
void writer_flush(struct writer *writer);

/** Counters so far. */
void writer_stats(struct writer *writer, struct gpufl_stats *stats);

/** The session id of \p writer; borrowed. */
const char *writer_session_id(const struct writer *writer);

#endif
