/* SPDX-License-Identifier: Apache-2.0 */
/* The origin, which is the one backend: what it declares, whether it answers, whether a
 * person must act first. */
#ifndef GPUFL_UPLOAD_CORE_ORIGIN_H
#define GPUFL_UPLOAD_CORE_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/engine_config.h"
#include "upload/core/trouble.h"
#include "upload/http/transport.h"
#include "upload/pace/pace.h"

/** After so many refusals in a row, ranges are held instead of quarantined. */
#define ORIGIN_REFUSALS_MAX 8u
/** How often a request is retried while a person must act. */
#define ORIGIN_SLOW_RETRY_MS 60000u

/** Said of a backend that answers with a page for people. */
#define ORIGIN_WEB_PAGE                                                                  \
    "it sent a web page (text/html): is there a proxy or a login page in between"

/** Why nothing is sent. */
enum engine_hold {
    HOLD_NONE,
    HOLD_AUTH,    /**< 401 or 403, which may be about what was sent, not the key */
    HOLD_SERVER,  /**< another answer that a person must act on */
    HOLD_QUOTA,   /**< 402 on every session */
    HOLD_JOURNAL, /**< the journal cannot be written */
};

struct origin {
    const struct engine_config *config;
    struct trouble *trouble;
    enum { ORIGIN_UNASKED, ORIGIN_ASKING, ORIGIN_KNOWN } state;
    bool zstd;
    bool live_windows;
    bool positions;
    uint64_t epoch;          /**< stands for its epoch, 0 = not known */
    uint64_t database;       /**< likewise for its database */
    uint64_t alive_after_ms; /**< it is told of silent sessions that live after so long; 0
                                = never */
    bool declared;           /**< it has said what it supports */
    bool asks_again;         /**< whether that has changed, is being asked */
    uint64_t ask_at_ms;      /**< when that is asked next */
    uint64_t asked_ms;       /**< when it was asked last */
    uint64_t told_ms;        /**< after the last question that it has answered, 0 = it has
                                failed since */
    unsigned doubts;         /**< answers in a row by which it may not have been asked */
    bool no_zstd_ever;       /**< it answered 415 */
    bool answered;
    unsigned failures;
    unsigned refusals; /**< single-line refusals since the last acceptance */
    uint64_t not_before_ms;
    uint64_t rests_until_ms; /**< nor does what is about no batch go before: it was not
                                reached, asked for a delay, or refused the key */
    uint64_t successes;
    unsigned in_flight;
    uint64_t reply_ms; /**< recent response time */
    struct pace pace;  /**< of full batches */
    enum engine_hold hold;
    int hold_status;
    bool wants_proof; /**< nothing is sent before it has taken the key */
    bool proved;      /**< it has */
    bool asks_proof;  /**< the question is under way … */
    bool by_post;     /**< … or will be asked, by a batch of nothing */
    unsigned stale;   /**< requests under way with the key from before */
};

/** \return true while requests go out one at a time, until one succeeds. */
bool origin_probing(const struct origin *origin);

/** \return how many requests may be in flight at once. */
unsigned origin_slots(const struct origin *origin);

/** \return true if one more request may go out now. */
bool origin_ready(const struct origin *origin, uint64_t now_ms);

/** Asks the origin what it declares, unless that is known; now and then, and after a
 * failure, whether it has changed. */
void origin_probe(struct origin *origin, uint64_t now_ms);

/** Handles the answer to that. */
void origin_on_probe(struct origin *origin, const struct transport_reply *reply,
                     uint64_t now_ms);

/** Notes an answer as expected: all backoffs end but those of offers that fail alone. */
void origin_ok(struct origin *origin);

/** Notes that it did not answer, or asked for a retry: everything waits for a backoff. */
void origin_failed(struct origin *origin, const struct transport_reply *reply,
                   uint64_t now_ms);

/** The same, of a question that is asked again by itself; says so, once until the origin
 * has answered. */
void origin_failed_to_tell(struct origin *origin, const struct transport_reply *reply,
                           uint64_t now_ms);

/** Notes that it answered \p status, which a person must act on; of 401 and 403, which
 * speak for themselves, \p reason is what the backend says besides, "" = nothing. */
void origin_hold(struct origin *origin, int status, const char *reason, uint64_t now_ms);

/** The same, with what the answer says to a person. */
void origin_refused(struct origin *origin, const struct transport_reply *reply,
                    uint64_t now_ms);

/** \return true if its epoch is known as it was after \p since_ms, or it names none. If
 * not, it is asked. */
bool origin_told_since(struct origin *origin, uint64_t since_ms, uint64_t now_ms);

/** Notes the epoch of an answer, and the database that it names. */
void origin_note_epoch(struct origin *origin, uint64_t epoch, uint64_t database);

#endif
