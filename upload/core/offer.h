/* SPDX-License-Identifier: Apache-2.0 */
/* Offers: ranges of a stream with an identity. An offer waits here, journalled, until the
 * backend has acknowledged it. */
#ifndef GPUFL_UPLOAD_CORE_OFFER_H
#define GPUFL_UPLOAD_CORE_OFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/uuid.h"
#include "upload/core/counters.h"
#include "upload/core/stream.h"
#include "upload/journal/journal_records.h"

/** Ticket of an offer whose record the journal did not take: the next rewrite assigns
 * another. */
#define TICKET_NEVER UINT64_MAX

enum offer_state {
    OFFER_SYNCING, /**< its current record is not on disk yet */
    OFFER_WAITING, /**< may be sent from retry_at_ms on */
    OFFER_IN_FLIGHT,
};

/** What an offer says of a stream that goes by positions. */
struct offer_part {
    struct stream_place begin, end;
    struct stream_start start;
    uint32_t file_crc;              /**< of the file up to its end */
    uint32_t losses;                /**< declared up to its end */
    uint32_t skips;                 /**< noted up to its end */
    struct record_quarantine *skip; /**< why its bytes are not sent, or NULL */
    bool torn;                      /**< as its writer never finished the line */
    bool returns; /**< a channel that was given up as a whole begins with it after all */
};

/** A range with an identity. */
struct offer {
    struct stream *stream;
    struct offer *next;
    struct offer **link;
    struct record_offer record;
    struct offer_part part; /**< begin.file 0 = it does not go by positions */
    enum offer_state state;
    struct counters_amount counted; /**< of it, as read */
    uint64_t ticket;
    uint64_t retry_at_ms;
    uint64_t made_ms;
    uint64_t successes_before; /**< of the origin, when it first failed */
    uint32_t rejected_lines;   /**< though the backend took the batch */
    bool failed;
    unsigned failures_alone;
    char waits_why[128]; /**< why it waits by itself, "" = it does not */
    bool maybe_stored;   /**< an attempt of this identity may have reached the backend */
    bool refused;        /**< it is sent again only if it can be read, to be split */
    bool restored;       /**< of an earlier run: power loss may hide that it was sent */
    bool is_shutdown;
    bool decoding; /**< it is read again in steps, see gz_cache_turn */
    bool paid;     /**< its request is already counted in the bucket */
    void *frame;
    size_t frame_len;
    uint32_t crc32;
    int fd; /**< of a sealed window, else -1 */
    char id_text[UUID_TEXT];
};

/** The result of an attempt to make an offer. */
enum made {
    MADE_OFFER,
    MADE_NOTHING,
    MADE_STEP, /**< the stream moved a step forward: try again */
};

/** Makes an offer with the stream's next number and a random id; it is not in the journal
 * yet. \return NULL without memory. */
struct offer *offer_new(struct stream *stream);

/** Restores the offer of an earlier run, in place of the stream's current one if there is
 * one. \return NULL without memory. */
struct offer *offer_restore(struct stream *stream, const struct record_offer *record);

/** Appends the stream to the journal if it is not there yet. \return false if the journal
 * cannot be written now. */
bool offer_journal_stream(struct stream *stream);

/** Appends it to the journal, and its stream if that is not there yet; the offer then
 * waits until the record is on disk. Of a part, whose place is its identity, only the
 * stream is appended, and it need not wait. \return false if the journal cannot be
 * written now.
 */
bool offer_journal(struct offer *offer);

/** Notes that it is about to leave the host. \return false if the journal cannot be
 * written now: then it must not. */
bool offer_note_sent(struct offer *offer);

/** Notes that no attempt has reached the backend, or that it refused them all. */
void offer_note_unsent(struct offer *offer);

/** \return true if it has half of what a batch may have, or more: the budget of requests
 * is for those that have not. */
bool offer_is_full(const struct offer *offer);

/** \return true if it is not sent until something changes in the directory of its
 * session, or that is there again. While its body is in memory, or its file open, it can
 * be sent without the directory. */
bool offer_is_held(const struct offer *offer);

/** \return true if it cannot be sent now. */
bool offer_waits(const struct offer *offer, uint64_t now_ms);

/** Drops its encoded body, which is encoded again when it is sent. */
void offer_drop_frame(struct engine *engine, struct offer *offer);

/** Moves it behind all others, so that another stream's offer probes the origin next. */
void offer_to_back(struct engine *engine, struct offer *offer);

/** Keeps an offer whose outcome could not be journalled: it is sent again once the
 * journal can be written. The backend's window registry, or its answer, prevents storing
 * it twice. */
void offer_keep(struct offer *offer, uint64_t now_ms);

/** Counts its range as read, in place of what was counted of it before. */
void offer_count_read(struct offer *offer);

/** Counts what has become of its range, which is not acknowledged. */
void offer_count_fate(const struct offer *offer, enum counters_fate fate);

/** Counts \p lines acknowledged lines of it. */
void offer_count_acked(const struct offer *offer, uint32_t lines, uint64_t now_ms);

/** The offer is over: frees it and queues its stream, which may have more. */
void offer_finish(struct offer *offer, uint64_t now_ms);

/** Frees it. What became of it is counted: see also offer_return. */
void offer_free(struct engine *engine, struct offer *offer);

/** Frees it: what is left of its range is to be read again. */
void offer_return(struct engine *engine, struct offer *offer);

#endif
