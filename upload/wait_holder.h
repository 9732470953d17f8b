/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for the uploader that holds a directory to settle what is in it now. */
#ifndef GPUFL_UPLOAD_WAIT_HOLDER_H
#define GPUFL_UPLOAD_WAIT_HOLDER_H

#include <stdint.h>

#include <gpufl/status.h>

#include "upload/engine/engine_report.h"
#include "upload/published/progress_file.h"
#include "upload/source/select.h"

/** What else the holder says of the user whose sessions are waited for. */
struct holder_room {
    unsigned waits; /**< so many directories for which it has no room; 0 = none */
    uint32_t owner; /**< of these */
};

struct holder_wait {
    const struct progress_origin *origin; /**< NULL = whatever it is about */
    uint64_t holds_from_ms; /**< what is held before then may not have been looked at
                               since somebody acted */
    uint64_t deadline_ms;
    /* What comes of it. */
    struct holder_room room;    /**< at the deadline; if it has none for one of them */
    struct engine_summary left; /**< of the sessions, in the last look */
};

/** Waits until the progress file of \p root, if it is about wait->origin, covers what the
 * sessions of \p selection hold now, and their ends where their writers have ended, but
 * for what is held until a person acts, or until the deadline (on sys->now_ms). Sleeps on
 * the calling thread. \return GPUFL_OK, also with something held; GPUFL_BUSY when there
 * is no progress to compare with; GPUFL_PARTIAL when the time is over. */
GPUFL_MUST gpufl_status wait_for_holder(const struct sys *sys, int root,
                                        const struct selection *selection,
                                        struct holder_wait *wait);

#endif
