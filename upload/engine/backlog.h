/* SPDX-License-Identifier: Apache-2.0 */
/* What waits, measured when somebody asks: it looks at the files themselves. */
#ifndef GPUFL_UPLOAD_ENGINE_BACKLOG_H
#define GPUFL_UPLOAD_ENGINE_BACKLOG_H

#include <stdint.h>

struct engine;

/** Sessions by what they wait for; each counts once. */
struct backlog {
    uint64_t bytes;  /**< unsettled, of open sessions; compressed files as they lie */
    uint64_t files;  /**< with unsettled bytes, of open sessions */
    double oldest_s; /**< age of the oldest unsettled line, at most; 0 = nothing waits */
    unsigned live;   /**< their writer is there, or may be */
    unsigned ended;  /**< being sent, or about to be reported as complete */
    unsigned parked_session; /**< ended, waiting for their turn: nothing else is known of
                                them */
    unsigned blocked;        /**< never complete: quarantine, refusal, loss, held */
    unsigned complete;
};

/** Costs two calls for each channel that waits and one for each of its files, at most
 * some thousand. */
void engine_backlog(const struct engine *engine, struct backlog *out);

#endif
