/* SPDX-License-Identifier: Apache-2.0 */
/* Offers: ranges of a stream under an identity, which wait here from the journal's record
 * until the backend has acknowledged them. */
#ifndef GPUFL_UPLOAD_CORE_OFFER_H
#define GPUFL_UPLOAD_CORE_OFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/uuid.h"
#include "upload/core/stream.h"
#include "upload/journal/journal_records.h"

/** Of an offer whose record no journal took: the next rewrite gives it another. */
#define TICKET_NEVER UINT64_MAX

enum offer_state {
    OFFER_SYNCING, /**< its record is not on disk yet as the offer is now */
    OFFER_WAITING, /**< may be sent from retry_at_ms on */
    OFFER_IN_FLIGHT,
};

/** A range with an identity. */
struct offer {
    struct stream *stream;
    struct offer *next;
    struct offer **link;
    struct record_offer record;
    enum offer_state state;
    uint64_t ticket;
    uint64_t retry_at_ms;
    uint64_t made_ms;
    uint64_t successes_before; /**< of the origin, when it first failed */
    bool failed;
    unsigned failures_alone;
    bool maybe_stored;
    bool is_shutdown;
    bool paid; /**< its request is already counted in the bucket */
    void *frame;
    size_t frame_len;
    uint32_t crc32;
    int fd; /**< of a sealed window, else -1 */
    char id_text[UUID_TEXT];
};

/** What came of a try to make an offer. */
enum made {
    MADE_OFFER,
    MADE_NOTHING,
    MADE_STEP, /**< the stream is a step further: try again */
};

/** A new one with the stream's next number and a random id, not in the journal yet.
 *  \return NULL without memory. */
struct offer *offer_new(struct stream *stream);

/** The one of an earlier run, in place of the stream's, if it has one. \return NULL
 * without memory. */
struct offer *offer_restore(struct stream *stream, const struct record_offer *record);

/** Appends it to the journal, with its stream where that is not there yet; it waits for
 * the record to be on disk. \return false when the journal does not take it now. */
bool offer_journal(struct offer *offer);

/** Drops its encoded body: it is encoded anew when it is sent. */
void offer_drop_frame(struct engine *engine, struct offer *offer);

/** Behind all others: the next probe of the origin is another stream's. */
void offer_to_back(struct engine *engine, struct offer *offer);

/** The journal could not take what became of it: it stays as it is and is sent again once
 * the journal is whole; the registry, or its answer, keeps it from being stored twice. */
void offer_keep(struct offer *offer, uint64_t now_ms);

/** It is over; its stream may have more. */
void offer_finish(struct offer *offer, uint64_t now_ms);

void offer_free(struct engine *engine, struct offer *offer);

#endif
