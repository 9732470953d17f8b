/* SPDX-License-Identifier: Apache-2.0 */
/* What the journal of a root says, for status and quarantine; reads only. */
#ifndef GPUFL_UPLOAD_JOURNAL_JOURNAL_READ_H
#define GPUFL_UPLOAD_JOURNAL_JOURNAL_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "base/sys.h"
#include "upload/journal/journal_tables.h"

/** Reads the journal of \p root_path (descriptor \p root_fd) from where an uploader with
 *  \p state_dir (NULL = default) keeps it.
 *  \return GPUFL_OK; GPUFL_ERR_NOT_FOUND without a journal; GPUFL_ERR_FORMAT;
 *  GPUFL_ERR_IO, also for a \p state_dir that is not there and for a journal in the root
 *  that belongs to another user; GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status journal_read_open(const struct sys *sys, const char *state_dir,
                                          int root_fd, const char *root_path,
                                          struct journal_read *out);

/** Reads it as journal_read_open() does. \return true if it knows any session. */
bool journal_read_knows_any(const struct sys *sys, const char *state_dir, int root_fd);

/** Whether the owner of the root, who is another user, keeps a journal in it, which would
 * count as none. Where others can write, only the owner of the root is believed.
 * \param or_else what can be done but to run the program as that owner; "" = nothing
 * \return true with the reason in \p why, and EACCES in errno. */
bool journal_read_is_of_another(int root_fd, const char *root_path, const char *or_else,
                                char why[512]);

/** True when it knows of nothing that was sent. */
bool journal_read_is_empty(const struct journal_read *journal);

/** \return how the session \p path is done; NULL = it is not. */
const struct record_session *journal_read_done(const struct journal_read *journal,
                                               const char *path);

/** By what the directory of the session \p path was known last; NULL = by nothing. */
const struct directory_id *journal_read_directory(const struct journal_read *journal,
                                                  const char *path);

/** \return the session \p path, of which a person gave up something as a whole; NULL =
 * nothing was given up. */
const struct journal_read_session *
journal_read_resolved(const struct journal_read *journal, const char *path);

/** \return the first stream of the session \p path; NULL = none is known. */
const struct journal_read_stream *journal_read_first(const struct journal_read *journal,
                                                     const char *path);

/** \return the next stream of the session of \p stream; NULL after the last. */
const struct journal_read_stream *
journal_read_next(const struct journal_read *journal,
                  const struct journal_read_stream *stream);

/** Whether something of the session \p path is in quarantine. */
bool journal_read_is_quarantined(const struct journal_read *journal, const char *path);

/** Whether the session \p path is done, and nobody tells how. */
bool journal_read_is_untold(const struct journal_read *journal, const char *path);

void journal_read_fini(struct journal_read *journal);

#endif
