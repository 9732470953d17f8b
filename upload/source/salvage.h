/* SPDX-License-Identifier: Apache-2.0 */
/* Publishes what a crashed 1.3 writer left in `.tmp`: compressed, with a sidecar, under
 * the names that its own clean end would have given. Every other tool of the directory
 * protocol then reads it as any other window. */
#ifndef GPUFL_UPLOAD_SOURCE_SALVAGE_H
#define GPUFL_UPLOAD_SOURCE_SALVAGE_H

#include "base/log.h"
#include "base/sys.h"

enum salvage_result {
    SALVAGE_DONE,   /**< `.tmp` is gone: everything in it is published */
    SALVAGE_STEP,   /**< one file is a step further: call again */
    SALVAGE_LEFT,   /**< something in `.tmp` needs a person; the rest is published */
    SALVAGE_BUSY,   /**< another process holds the session's lock */
    SALVAGE_FAILED, /**< it may not be written there, or the disk failed */
};

/** A session directory. */
struct salvage_place {
    const struct sys *sys;
    const struct log *log;
    int root;         /**< directory of the root */
    const char *path; /**< of the session, below the root */
    const char *id;
};

/** Does one step, under the session's lock. Each is whole on disk before the next depends
 * on it, so a death between any two loses nothing and publishes nothing twice. Deletes
 * only what exists elsewhere, or is empty. */
enum salvage_result salvage_step(const struct salvage_place *place);

#endif
