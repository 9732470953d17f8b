/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of what a journal says, found by number and by path. */
#ifndef GPUFL_UPLOAD_JOURNAL_JOURNAL_TABLES_H
#define GPUFL_UPLOAD_JOURNAL_JOURNAL_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upload/journal/journal_records.h"
#include "upload/journal/lookup.h"
#include "upload/journal/origin_history.h"
#include "upload/journal/range_list.h"
#include "upload/journal/record_directory.h"

/** One channel of one session. */
struct journal_read_stream {
    struct record_stream record; /**< position, counters */
    struct record_sealed sealed; /**< its newest sealed file, as it was sent */
    bool offered;     /**< a batch was on its way when the journal was written */
    bool quarantined; /**< ranges of it are in quarantine */
    bool untold;      /**< only its position is known, no lines and no marks */
    size_t session;   /**< its number; LOOKUP_NONE = it is forgotten */
    size_t next;      /**< number of the next one of the session, or LOOKUP_NONE */
};

struct journal_read_session {
    struct record_session done; /**< its path, and how it is done if it is */
    bool is_done;               /**< it is complete, or has ended */
    bool has_directory;
    struct directory_id directory; /**< by which it was known last */
    uint64_t unread;               /**< as in struct record_resolved */
    uint8_t no_manifest;           /**< likewise */
    size_t first;                  /**< number of its first stream, or LOOKUP_NONE */
};

/** All zero, but for the seed, when empty. */
struct journal_read {
    struct journal_read_stream *stream;
    size_t streams;
    size_t stream_cap;
    struct journal_read_session *session; /**< some say nothing: they are forgotten */
    size_t sessions;
    size_t session_cap;
    struct range_list quarantine;
    struct origin_history origin;
    struct lookup by_number; /**< of the streams */
    struct lookup by_path;   /**< of the sessions */
    uint32_t seed; /**< by which these are looked up: others choose names, but not this */
    bool damaged;  /**< records in its middle could not be read */
    bool no_memory; /**< used while it is read */
    char why[512];  /**< after an error: what is wrong with it, and what to do */
};

/** \return the stream with the number \p id, or NULL. */
struct journal_read_stream *journal_tables_stream(const struct journal_read *r,
                                                  uint32_t id);

/** \return the session \p path, or NULL. */
struct journal_read_session *journal_tables_session(const struct journal_read *r,
                                                    const char *path);

/** The same; it is made. \return NULL without memory, which is noted. */
struct journal_read_session *journal_tables_make(struct journal_read *r,
                                                 const char *path);

/** Adds the stream, or sets what is known of it; its session is open. */
void journal_tables_put(struct journal_read *r, const struct record_stream *record);

/** Nothing is known of the session \p path any more. */
void journal_tables_forget(struct journal_read *r, const char *path);

/** What is known of the session \p from is about \p path. */
void journal_tables_move(struct journal_read *r, const char *from, const char *path);

/** Takes streams that are forgotten out of the table, once all is read. */
void journal_tables_tidy(struct journal_read *r);

void journal_tables_close(struct journal_read *r);

#endif
