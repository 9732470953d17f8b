/* SPDX-License-Identifier: Apache-2.0 */
/* Who calls fsync: the caller itself in a one-shot upload, a thread in the agent. */
#ifndef GPUFL_UPLOAD_JOURNAL_SYNCER_H
#define GPUFL_UPLOAD_JOURNAL_SYNCER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/sys.h"

/** One sync of one file. Owned by the journal; at most one is under way for each. */
struct sync_job {
    int fd;
    bool whole;            /**< fsync: a new file or a directory; else fdatasync */
    int error;             /**< errno of the sync, 0 = done; valid once `finished` */
    _Atomic bool finished; /**< set with release by the syncer, read with acquire */
    struct sync_job *next; /**< the syncer's own, while under way */
};

/** `start` may finish the job before returning; when it is finished later, the syncer
 * wakes the loop. `finish` returns once the job is finished. */
struct syncer {
    void (*start)(void *self, struct sync_job *job);
    void (*finish)(void *self, struct sync_job *job);
    void *self;
};

/** Does the sync that \p job asks for. \return 0 or errno. */
int sync_now(const struct sys *sys, const struct sync_job *job);

/** A syncer that syncs on the calling thread. \p sys is borrowed. */
struct syncer syncer_inline(const struct sys *sys);

#endif
