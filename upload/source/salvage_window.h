/* SPDX-License-Identifier: Apache-2.0 */
/* Single windows of a salvage: checked, compressed, published. */
#ifndef GPUFL_UPLOAD_SOURCE_SALVAGE_WINDOW_H
#define GPUFL_UPLOAD_SOURCE_SALVAGE_WINDOW_H

#include <stdbool.h>

#include <gpufl/status.h>

#include "upload/source/salvage.h"

/** Descriptors of a session directory and of its `.tmp`. */
struct salvage_dirs {
    int session;
    int tmp;
};

/** \return GPUFL_OK for a sound gzip file `<dir>/<name>`, else as gz_file_check. */
GPUFL_MUST gpufl_status salvage_check(const struct salvage_place *place, int dir,
                                      const char *name);

/** Makes `.tmp/<channel>.<number>.log.gz` of the raw window beside it; both stay. */
enum salvage_result salvage_compress(const struct salvage_place *place,
                                     const struct salvage_dirs *dirs, const char *channel,
                                     uint32_t number);

/** Moves a sound `.tmp/<channel>.<number>.log.gz` to its place, its sidecar first. If
 * that place is taken by the same lines the copy goes; by other lines: SALVAGE_LEFT. */
enum salvage_result salvage_publish(const struct salvage_place *place,
                                    const struct salvage_dirs *dirs, const char *channel,
                                    uint32_t number);

/** Leaves the marker that a window is lost. */
bool salvage_mark_loss(const struct salvage_place *place, const struct salvage_dirs *dirs,
                       const char *channel, uint32_t number, const char *reason);

#endif
