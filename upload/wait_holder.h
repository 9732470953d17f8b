/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for the uploader that holds a directory to settle what is in it now. */
#ifndef GPUFL_UPLOAD_WAIT_HOLDER_H
#define GPUFL_UPLOAD_WAIT_HOLDER_H

#include <stdint.h>

#include <gpufl/status.h>

#include "upload/core/progress_file.h"
#include "upload/source/select.h"

/** What else the holder says of the user whose sessions are waited for. */
struct holder_room {
    unsigned waits; /**< so many directories for which it has no room; 0 = none */
    uint32_t owner; /**< of these */
};

/** Waits until the progress file of \p root, if it is about \p origin, covers what the
 * sessions of \p selection hold now, or until \p deadline_ms (on sys->now_ms). Sleeps on
 * the calling thread. \return GPUFL_OK; GPUFL_BUSY when there is no progress to compare
 * with; GPUFL_PARTIAL when the time is over; then \p room says whether the holder has no
 * room for one of them. */
GPUFL_MUST gpufl_status wait_for_holder(const struct sys *sys, int root,
                                        const struct selection *selection,
                                        const struct progress_origin *origin,
                                        uint64_t deadline_ms, struct holder_room *room);

#endif
