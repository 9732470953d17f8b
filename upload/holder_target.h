/* SPDX-License-Identifier: Apache-2.0 */
/* What one channel of a session has on disk, and what another uploader tells of it. */
#ifndef GPUFL_UPLOAD_HOLDER_TARGET_H
#define GPUFL_UPLOAD_HOLDER_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sys.h"
#include "upload/published/progress_parse.h"
#include "upload/source/scan.h"

/** What is told of a channel. */
struct holder_target_told {
    bool named; /**< the holder knows it */
    bool reached;
    bool nearly; /**< but for what may be kept back */
};

/** What must be settled in one channel. */
struct holder_target {
    size_t session; /**< of struct holder_targets */
    char channel[LAYOUT_CHANNEL_MAX + 1];
    uint32_t file;
    uint64_t offset;
    struct holder_target_told told;
    struct holder_target_told told_complete; /**< by the file of complete sessions */
    bool held;
    bool guessed; /**< it is in a compressed file, of which only the last part is told */
};

/** The end of \p channel of the session \p path, by its files. */
struct holder_target holder_target_of(const struct sys *sys, int root, const char *path,
                                      enum session_layout layout,
                                      const struct scan_channel *channel);

/** Notes what is told. \return false if that is of another channel. */
bool holder_target_note_line(struct holder_target *target,
                             const struct progress_line *line);

#endif
