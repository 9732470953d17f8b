/* SPDX-License-Identifier: Apache-2.0 */
/* What the journal of a root says, for status and quarantine; reads only. */
#ifndef GPUFL_UPLOAD_JOURNAL_JOURNAL_READ_H
#define GPUFL_UPLOAD_JOURNAL_JOURNAL_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "base/sys.h"
#include "upload/journal/journal_records.h"
#include "upload/journal/origin_history.h"

/** One channel of one session. */
struct journal_read_stream {
    struct record_stream record; /**< position, counters */
    struct record_sealed sealed; /**< its newest sealed file, as it was sent */
    bool offered; /**< a batch was on its way when the journal was written */
};

struct journal_read {
    struct journal_read_stream *stream;
    size_t streams;
    size_t stream_cap;
    struct record_quarantine *quarantine;
    size_t quarantines;
    size_t quarantine_cap;
    struct record_session *done; /**< sessions that are complete, or have ended */
    size_t dones;
    size_t done_cap;
    struct record_resolved *resolved; /**< what a person gave up of whole sessions */
    size_t resolveds;
    size_t resolved_cap;
    struct record_directory *directory; /**< by which those of sessions are known */
    size_t directories;
    size_t directory_cap;
    struct origin_history origin;
    bool damaged;   /**< records in its middle could not be read */
    bool no_memory; /**< used while it is read */
    char why[512];  /**< after an error: what is wrong with it, and what to do */
};

/** Reads the journal of \p root_path (descriptor \p root_fd) from where an uploader with
 *  \p state_dir (NULL = default) keeps it.
 *  \return GPUFL_OK; GPUFL_ERR_NOT_FOUND without a journal; GPUFL_ERR_FORMAT;
 *  GPUFL_ERR_IO, also for a \p state_dir that is not there and for a journal in the root
 *  that belongs to another user; GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status journal_read_open(const struct sys *sys, const char *state_dir,
                                          int root_fd, const char *root_path,
                                          struct journal_read *out);

/** Whether the owner of the root, who is another user, keeps a journal in it, which would
 * count as none. Where others can write, only the owner of the root is believed.
 * \param or_else what can be done but to run the program as that owner; "" = nothing
 * \return true with the reason in \p why. */
bool journal_read_is_of_another(int root_fd, const char *root_path, const char *or_else,
                                char why[512]);

/** True when it knows of nothing that was sent. */
bool journal_read_is_empty(const struct journal_read *journal);

/** \return how the session \p path is done; NULL = it is not. */
const struct record_session *journal_read_done(const struct journal_read *journal,
                                               const char *path);

/** By what the directory of the session \p path was known last; NULL = by nothing. */
const struct record_directory *journal_read_directory(const struct journal_read *journal,
                                                      const char *path);

/** What a person gave up of the whole session \p path; NULL = nothing. */
const struct record_resolved *journal_read_resolved(const struct journal_read *journal,
                                                    const char *path);

void journal_read_fini(struct journal_read *journal);

#endif
