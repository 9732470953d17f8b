/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for the uploader that holds a directory to settle what is in it now. */
#ifndef GPUFL_UPLOAD_WAIT_HOLDER_H
#define GPUFL_UPLOAD_WAIT_HOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "upload/holder_targets.h"

struct holder_wait {
    const struct progress_origin *origin; /**< NULL = whatever it is about */
    uint64_t holds_from_ms; /**< what is held before then may not have been looked at
                               since somebody acted */
    uint64_t deadline_ms;
    uint64_t look_ms; /**< when writers are looked at again, though nothing new is told;
                         0 = at once */
    bool over;        /**< by the last look */
    struct holder_room room; /**< what comes of it: if there is none for one of them */
};

/** Waits until the progress of the holder, if it is about wait->origin, covers what is in
 * \p targets, and the ends of sessions whose writers have ended, but for what is held
 * until a person acts, or until the deadline (on sys->now_ms). Sleeps on the calling
 * thread. \return GPUFL_OK, also with something held; GPUFL_BUSY when there is no
 * progress to compare with; GPUFL_PARTIAL when the time is over. */
GPUFL_MUST gpufl_status wait_for_holder(const struct sys *sys,
                                        struct holder_targets *targets,
                                        struct holder_wait *wait);

#endif
