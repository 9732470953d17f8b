/* SPDX-License-Identifier: Apache-2.0 */
/* The backends that a journal was kept for. */
#ifndef GPUFL_UPLOAD_JOURNAL_ORIGIN_HISTORY_H
#define GPUFL_UPLOAD_JOURNAL_ORIGIN_HISTORY_H

#include "upload/journal/journal_records.h"

#define ORIGIN_HISTORY_MAX 64u

enum origin_match {
    ORIGIN_NOT_NOTED, /**< the journal does not say which it was kept for */
    ORIGIN_MATCHES,
    ORIGIN_OTHER_KEY,
    ORIGIN_OTHER_URL,
};

/** Empty when it is zero. */
struct origin_history {
    struct record_origin now; /**< the one that all positions are about */
    /** First other backends, then other names of this one. Without their flags. */
    struct record_origin *before;
    size_t count;
    size_t cap;
    size_t others; /**< so many of them are other backends */
    bool partial;  /**< there were more than are known */
};

/** A key as it is kept: hashed with a salt. */
void origin_history_hash(const unsigned char salt[JOURNAL_SALT],
                         const unsigned char key[JOURNAL_KEY_HASH],
                         unsigned char out[JOURNAL_KEY_HASH]);

/** Applies a record. */
void origin_history_note(struct origin_history *history,
                         const struct record_origin *record);

/** Compares a backend with the present one. */
enum origin_match origin_history_match(const struct origin_history *history,
                                       const char *url,
                                       const unsigned char key[JOURNAL_KEY_HASH]);

/** Whether a backend is, as far as the journal knows, one from before the present one,
 * which has got things since that it lacks. */
bool origin_history_was_left(const struct origin_history *history, const char *url,
                             const unsigned char key[JOURNAL_KEY_HASH]);

/** Sets salt and hash of \p record for a key; with the salt from before, where there is
 * one, so that a backend that comes back is not kept twice. */
void origin_history_name(const struct origin_history *history,
                         struct record_origin *record,
                         const unsigned char key[JOURNAL_KEY_HASH],
                         const unsigned char fresh_salt[JOURNAL_SALT]);

/** Appends all to a journal that is rewritten. */
void origin_history_write(const struct origin_history *history, struct journal *journal);

void origin_history_fini(struct origin_history *history);

#endif
