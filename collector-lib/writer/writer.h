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

/** A running writer; opaque. */
struct writer;

/** How far sessions are in the files: one for all of a process, which outlives each. */
struct writer_flush {
    _Atomic uint64_t asked, done;
};

/** Time after `settings.shutdown_ms` for the last lines. */
#define WRITER_LAST_WRITES_MS 1000

/** Where a writer takes rows from; borrowed until writer_stop. */
struct writer_input {
    struct rings *rings;
    struct names *names;
    struct writer_flush *flush;
    uint16_t generation; /**< marks the rows of this session */
};

/** Takes over \p dir, which must stay where it is, \p profiler, and the thread of files,
 * which ends with the writer, and starts the thread, which blocks all signals. Waits
 * until it has opened what it reads while the session runs, for 100 ms at most: the job
 * may go on by closing what it did not open. \return GPUFL_OK, GPUFL_ERR_NOMEM or
 * GPUFL_ERR_IO; on failure \p dir is removed and closed, and \p profiler stopped. */
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

/** From here on, the GPU's driver has `settings.shutdown_ms` to return; then it is left
 * alone. Drains the rings, writes the closing records, ends the thread and frees the
 * writer, then fills \p result. If \p writer is NULL, \p result is not changed. */
void writer_stop(struct writer *writer, struct writer_result *result);

/** Asks the thread to end. \return false, and says so, if it has not within
 * `settings.shutdown_ms` and a second; then the writer must stay as it is. */
bool writer_end(struct writer *writer);

/** Whether one that did not end in time has ended since: then writer_stop takes it. */
bool writer_has_ended(struct writer *writer);

/** The tracer's library has ended: its last records are not fetched. Before the end. */
void writer_abandon_tracer(struct writer *writer);

/** What was recorded before writer_ask_flush; zero = nothing. */
struct writer_ticket {
    uint64_t number, patience_ms;
    char session_id[40];
};

struct writer_ticket writer_ask_flush(struct writer *writer);

/** Returns once all that \p ticket stands for is in the files; after `patience_ms`
 * without, and says so. The writer may have gone meanwhile. */
void writer_flush_wait(struct writer_flush *flush, const struct writer_ticket *ticket);

/** Counters so far. */
void writer_stats(struct writer *writer, struct gpufl_stats *stats);

/** Fills what of \p stats its struct_size, at least that of a size_t, holds whole. */
void writer_stats_copy(const struct gpufl_stats *full, struct gpufl_stats *stats);

/** The session id of \p writer; borrowed. */
const char *writer_session_id(const struct writer *writer);

#endif
