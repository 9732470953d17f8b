/* SPDX-License-Identifier: Apache-2.0 */
/* A session directory with what lies beside its active files: which compressed ones are
 * passed over. */
#ifndef GPUFL_UPLOAD_SOURCE_SCAN_SESSION_H
#define GPUFL_UPLOAD_SOURCE_SCAN_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/source/scan.h"

/** Inspects `<root>/<path>`, a session whose id is \p id.
 *  \return GPUFL_OK; GPUFL_ERR_NOT_FOUND when it holds no session file; GPUFL_ERR_IO,
 * with nothing in \p out. */
GPUFL_MUST gpufl_status scan_session(const struct sys *sys, int root, const char *path,
                                     const char *id, struct scan *out);

/** What `<channel>.log.gz` is, beside `<channel>.log` or instead of it. The greatest one
 * counts: the channel has several files that it may begin. */
enum second_form {
    SECOND_FORM_OTHER,      /**< it holds something else, or not one whole line */
    SECOND_FORM_CUT_ACTIVE, /**< it is cut off; what it yields begins `<channel>.log` */
    SECOND_FORM_CUT,        /**< it is cut off or damaged; what it yields begins a file */
    SECOND_FORM_UNREADABLE, /**< it or what it is compared with: that may pass */
    SECOND_FORM_COPY_ACTIVE, /**< it is sound; `<channel>.log` begins with all of it */
    SECOND_FORM_COPY,        /**< …; a sealed file does */
};

/** Compares `<channel>.log.gz` in the session's directory \p dir with `<channel>.log` and
 * the sealed files of the channel. *known stands for what was found of it, so that it is
 * not read again; NULL = it is. An error is never known. */
enum second_form second_form_of(const struct sys *sys, int dir, const char *channel,
                                uint64_t *known);

/** Takes compressed active files of the session's directory \p dir that are copies of
 * what else is there for nothing, and notes others beside active ones, or that cannot be
 * read to their end, as not read. \p lives: the writer does. \p known: what was found by
 * earlier calls, or NULL. */
void scan_note_second(const struct sys *sys, int dir, struct scan *scan, bool lives,
                      uint64_t known[CHANNEL_COUNT]);

#endif
