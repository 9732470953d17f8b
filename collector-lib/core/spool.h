/* SPDX-License-Identifier: Apache-2.0 */
/* Limits a session's use of the disk: a budget of bytes and a reserve of free space.
 * Beyond either, and after a failed write, recording pauses, a loss marker says so, and
 * recording resumes when there is room, or when writes succeed. */
#ifndef GPUFL_COLLECTOR_CORE_SPOOL_H
#define GPUFL_COLLECTOR_CORE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector-lib/core/own_fd.h"

/** Limits in bytes; 0 = none. */
struct spool {
    uint64_t max_bytes;
    uint64_t min_free_bytes;
    const struct own_fd *dir; /**< of the session, borrowed */
    bool paused;
    int64_t next_check_ns; /**< monotonic */
    uint64_t estimate;     /**< bytes at the last check and what was written since */
    unsigned markers;      /**< loss markers of pauses that are over */
    bool marked;           /**< that of this pause is on disk */
    bool failed;           /**< paused by a write that failed */
    int retry_ms;
    int64_t retry_ns, resumed_ns; /**< monotonic */
    char reason[200];
    int64_t first_ns, last_ns; /**< of the pause, wall clock */
    uint64_t lost_lines;
    uint64_t lost_bytes;
};

/** Checks the disk at most once a second, and when the estimate is near a limit. \p
 * mono_ns and \p wall_ns are now. \return true if recording has just resumed. */
bool spool_check(struct spool *spool, int64_t mono_ns, int64_t wall_ns);

/** Whether it looks at the disk now. */
bool spool_check_is_due(const struct spool *spool, int64_t mono_ns);

/** Counts \p len bytes that were written. */
void spool_wrote(struct spool *spool, size_t len);

/** Pauses recording: a write failed, and \p reason, an error's number, says why. \return
 * false, and nothing happens, if it is paused. */
bool spool_fail(struct spool *spool, const char *channel, int reason, int64_t mono_ns,
                int64_t wall_ns);

/** True, once for each time, if after a failed write another one is to be tried. */
bool spool_retry_is_due(struct spool *spool, int64_t mono_ns);

/** Ends the pause: the writes have succeeded. If no line was lost, its loss marker goes.
 */
void spool_resume(struct spool *spool, int64_t mono_ns);

/** Counts lines that were not written. \return how many. */
uint64_t spool_lost(struct spool *spool, const char *lines, size_t len, int64_t wall_ns);

/** Keeps room for a loss marker, so that a disk that is full takes one. */
void spool_begin(struct spool *spool);

/** Ends the session \p id: updates the loss marker of a pause that lasts, or removes it
 * if there was room for all lines, says so on stderr if it cannot be written, and gives
 * the room back. */
void spool_end(struct spool *spool, const char *id);

#endif
