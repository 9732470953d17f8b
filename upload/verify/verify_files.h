/* SPDX-License-Identifier: Apache-2.0 */
/* Runs over the files of one channel. */
#ifndef GPUFL_UPLOAD_VERIFY_VERIFY_FILES_H
#define GPUFL_UPLOAD_VERIFY_VERIFY_FILES_H

#include "schema/layout.h"
#include "upload/http/reply_positions.h"
#include "upload/source/scan.h"
#include "upload/source/select.h"
#include "upload/verify/verify_ask.h"

/** What the comparison of a channel came to; the first is the only one without a fault.
 */
enum verify_result {
    VERIFY_EQUAL,
    VERIFY_BEHIND,     /**< the backend lacks what comes last */
    VERIFY_AHEAD,      /**< the backend has more than the files, which are equal */
    VERIFY_OTHER,      /**< the bytes differ */
    VERIFY_LOSSY,      /**< the backend knows of lines that it does not have */
    VERIFY_NO_FILES,   /**< the backend has lines, and no file is here */
    VERIFY_MISSING,    /**< lines may be missing on both sides: the file in which the
                            backend's end lies, or what was written to the active one, is
                            not here, or no file of the channel is */
    VERIFY_EXPIRED,    /**< the backend has deleted its lines */
    VERIFY_BY_WINDOWS, /**< the lines were sent without positions: nothing to compare */
    VERIFY_UNREADABLE, /**< a file cannot be read, or changed meanwhile */
    VERIFY_CHANGED,    /**< it does not compare, but files were renamed or deleted
                            meanwhile, at each look */
    VERIFY_EXCESSIVE,  /**< a compressed file holds more than files of lines do for their
                            size: it was not read to its end */
    VERIFY_RESULTS,
};

struct verify_stream {
    char channel[LAYOUT_CHANNEL_MAX + 1];
    enum session_layout layout;
    bool complete; /**< the backend takes the session for complete, or ended */
    enum verify_result result;
    uint32_t first_file; /**< the first file that is here, 0 = none */
    uint32_t file;       /**< AHEAD, OTHER, MISSING, UNREADABLE, EXCESSIVE: where that was
                            found; MISSING: 0 = no file is here */
    struct stream_place here; /**< where the files end; `lines`: of the files here; `crc`:
                                   of their bytes */
    struct reply_end backend; /**< where the backend's lines end */
    uint64_t behind_lines;    /**< BEHIND */
    uint64_t behind_bytes;    /**< BEHIND */
};

/** Compares the files of \p channel of the session with out->backend and fills the rest
 * of *out. \return as verify_ask. */
GPUFL_MUST gpufl_status verify_files(struct verify *v, const struct selected *selected,
                                     const struct scan_channel *channel,
                                     struct verify_stream *out);

#endif
