/* SPDX-License-Identifier: Apache-2.0 */
/* What an answer to a batch means: the table in docs/architecture.md. */
#ifndef GPUFL_UPLOAD_HTTP_VERDICT_H
#define GPUFL_UPLOAD_HTTP_VERDICT_H

#include <stdbool.h>

enum verdict {
    VERDICT_ACKED,         /**< stored: the position advances */
    VERDICT_RETRY,         /**< not now: the same offer again, later */
    VERDICT_HOLD_ORIGIN,   /**< a person must act on the server or the key */
    VERDICT_HOLD_SESSION,  /**< a limit of the workspace: this session waits */
    VERDICT_SPLIT,         /**< too large, or with a bad line: offer half of it */
    VERDICT_QUARANTINE,    /**< this range is refused for good: keep it listed, go on */
    VERDICT_REFUSED_FINAL, /**< the session was closed before: not stored, go on */
    VERDICT_PLAIN_CODEC,   /**< 415: offer it again as gzip */
};

/** What the engine knows when an answer comes in. */
struct verdict_case {
    int status;    /**< HTTP status; 0 = no answer (network, DNS, TLS, cut short) */
    bool web_page; /**< a success that is text/html: a login page, not the backend */
    bool identity_conflict; /**< the body names window_identity_conflict */
    bool sequence_conflict; /**< … window_sequence_conflict */
    bool maybe_stored; /**< an earlier attempt of this identity ended without answer */
    bool encoding_changed; /**< an earlier attempt had other bytes for the same range */
    bool can_split;        /**< a batch of more than one line, formed by us */
    bool is_plain_codec;   /**< the body was gzip or plain already */
};

/** The verdict; defined for every status. */
enum verdict verdict_of(const struct verdict_case *c);

#endif
