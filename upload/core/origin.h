/* SPDX-License-Identifier: Apache-2.0 */
/* The one backend: what it declares, whether it answers, whether it waits for a person.
 */
#ifndef GPUFL_UPLOAD_CORE_ORIGIN_H
#define GPUFL_UPLOAD_CORE_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/engine_config.h"
#include "upload/core/trouble.h"
#include "upload/http/transport.h"

/** Refused alone so often in a row, a range is held instead of quarantined. */
#define ORIGIN_REFUSALS_MAX 8u
/** What waits for a person is tried again so often. */
#define ORIGIN_SLOW_RETRY_MS 60000u

/** Why nothing moves, if so. */
enum engine_hold {
    HOLD_NONE,
    HOLD_AUTH,    /**< 401 or 403 */
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
    bool no_zstd_ever; /**< it answered 415 */
    bool answered;
    unsigned failures;
    unsigned refusals; /**< single-line refusals since the last acceptance */
    uint64_t not_before_ms;
    uint64_t successes;
    unsigned in_flight;
    uint64_t reply_ms; /**< how long answers take of late */
    enum engine_hold hold;
    int hold_status;
};

/** Requests go out one at a time, until one succeeds. */
bool origin_probing(const struct origin *origin);

/** How many requests may be under way at once. */
unsigned origin_slots(const struct origin *origin);

/** True when one more request may go out now. */
bool origin_ready(const struct origin *origin, uint64_t now_ms);

/** Asks what it declares, unless that is known. */
void origin_probe(struct origin *origin, uint64_t now_ms);

/** Takes the answer to that. */
void origin_on_probe(struct origin *origin, const struct transport_reply *reply,
                     uint64_t now_ms);

/** It answered as it should: waiting ends for all but those that fail alone. */
void origin_ok(struct origin *origin);

/** It did not answer, or said that it cannot now: all wait for a backoff. */
void origin_failed(struct origin *origin, uint64_t retry_after_ms, uint64_t now_ms);

/** It answered \p status, about which a person must do something. */
void origin_hold(struct origin *origin, int status, const char *reason, uint64_t now_ms);

#endif
