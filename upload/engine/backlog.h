/* SPDX-License-Identifier: Apache-2.0 */
/* The backlog, measured on request from the files themselves. */
#ifndef GPUFL_UPLOAD_ENGINE_BACKLOG_H
#define GPUFL_UPLOAD_ENGINE_BACKLOG_H

#include <stdint.h>

struct engine;

/** What is not uploaded yet; each session counts once. */
struct backlog {
    uint64_t bytes;  /**< unsettled, of open sessions; compressed files as they lie */
    uint64_t files;  /**< with unsettled bytes, of open sessions */
    double oldest_s; /**< upper bound on the age of the oldest unsettled line; 0 = nothing
                        waits */
    unsigned live;   /**< their writer is there, or may be */
    unsigned ended;  /**< being sent, or about to be reported as complete */
    unsigned parked_session; /**< ended and waiting for their turn */
    unsigned blocked;        /**< never complete: quarantine, refusal, loss, held */
    unsigned away;           /**< not complete, and their directory is not there */
    unsigned lossy;          /**< ended, and the backend knows that lines are missing */
    unsigned complete;
};

/** Costs two system calls per waiting channel and one per file of it, a few thousand at
 * most. */
void engine_backlog(const struct engine *engine, struct backlog *out);

#endif
