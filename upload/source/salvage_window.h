/* SPDX-License-Identifier: Apache-2.0 */
/* Single windows of a salvage: checked, compressed, published. */
#ifndef GPUFL_UPLOAD_SOURCE_SALVAGE_WINDOW_H
#define GPUFL_UPLOAD_SOURCE_SALVAGE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "base/log.h"
#include "base/sys.h"
#include "upload/source/salvage_readings.h"

enum salvage_result {
    SALVAGE_DONE,    /**< `.tmp` is gone: everything in it is published */
    SALVAGE_STEP,    /**< one file is a step further: call again */
    SALVAGE_MORE,    /**< a budget is spent, within a file or before: call again */
    SALVAGE_LEFT,    /**< something in `.tmp` needs a person; the rest is published */
    SALVAGE_BUSY,    /**< another process holds the session's lock */
    SALVAGE_FOREIGN, /**< `.tmp` or a file in it is another user's, or it is a session */
    SALVAGE_CROWDED, /**< more names are in `.tmp` than SALVAGE_NAMES_MAX */
    SALVAGE_FAILED,  /**< the directory cannot be written, or the disk failed */
};

/** The session directory that is salvaged. */
struct salvage_place {
    const struct sys *sys;
    const struct log *log;
    int root;         /**< directory of the root */
    const char *path; /**< of the session, below the root */
    const char *id;
    struct salvage_readings *readings;
    size_t *budget;   /**< bytes that may be read for now */
    uint64_t *there;  /**< becomes what `.tmp` takes on disk, once it was listed */
    bool *lists_many; /**< whether a long `.tmp` may be listed for now: one may */
};

/** Descriptors of a session directory and of its `.tmp`. */
struct salvage_dirs {
    int session;
    int tmp;
};

/** \return GPUFL_OK for a sound gzip file `<dir>/<name>`; GPUFL_ERR_NOT_FOUND; else as
 * salvage_read. */
GPUFL_MUST gpufl_status salvage_check(const struct salvage_place *place, int dir,
                                      const char *name);

/** Compresses a raw window to `.tmp/<channel>.<number>.log.gz`; keeps both. */
enum salvage_result salvage_compress(const struct salvage_place *place,
                                     const struct salvage_dirs *dirs, const char *channel,
                                     uint32_t number);

/** Moves a sound `.tmp/<channel>.<number>.log.gz` into the session directory, after its
 * sidecar. If a file of that name with the same lines is there already, the copy is
 * deleted; if its lines differ: SALVAGE_LEFT. */
enum salvage_result salvage_publish(const struct salvage_place *place,
                                    const struct salvage_dirs *dirs, const char *channel,
                                    uint32_t number);

/** Leaves the marker that a window is lost. */
bool salvage_mark_loss(const struct salvage_place *place, const struct salvage_dirs *dirs,
                       const char *channel, uint32_t number, const char *reason);

#endif
