/* SPDX-License-Identifier: Apache-2.0 */
/* What one channel of a session has on disk, and what another uploader tells of it. */
#ifndef GPUFL_UPLOAD_HOLDER_TARGET_H
#define GPUFL_UPLOAD_HOLDER_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sys.h"
#include "upload/published/progress_parse.h"
#include "upload/source/file_mark.h"
#include "upload/source/scan.h"

/** What is told of a channel. */
struct holder_target_told {
    bool named; /**< the holder knows it */
    bool reached;
    bool nearly;             /**< but for what may be kept back */
    uint64_t offset;         /**< of a file that is renamed … */
    struct record_mark mark; /**< … where these bytes are before that */
};

/** What must be settled in one channel. */
struct holder_target {
    size_t session; /**< of struct holder_targets */
    char channel[LAYOUT_CHANNEL_MAX + 1];
    uint32_t file;
    uint64_t offset;
    struct file_known known; /**< the file, if it may be renamed: then its number tells
                                  nothing … */
    bool first;              /**< … of its channel */
    struct holder_target_told told;
    struct holder_target_told told_complete; /**< by the file of complete sessions */
    bool held;
    bool guessed; /**< it is in a compressed file, of which only the last part is told */
};

/** The end of \p channel of the session \p path, by its files. */
struct holder_target holder_target_of(const struct sys *sys, int root, const char *path,
                                      enum session_layout layout,
                                      const struct scan_channel *channel);

/** Likewise the end of its active file, where files are renamed; its `known` is all zero
 * if there is none. */
struct holder_target holder_target_of_active(const struct sys *sys, int root,
                                             const char *path,
                                             const struct scan_channel *channel);

/** \return true if what is told of that lies in the active file as it is now, and not
 * before the end that the one of the call had: files are sent one after the other.
 * *grew is set if it has grown, or is another one. */
bool holder_target_is_passed(const struct sys *sys, int root, const char *path,
                             const struct holder_target *target, bool *grew);

/** Notes what is told. \return false if that is of another channel. */
bool holder_target_note_line(struct holder_target *target,
                             const struct progress_line *line);

#endif
