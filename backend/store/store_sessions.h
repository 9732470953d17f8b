/* SPDX-License-Identifier: Apache-2.0 */
/* What is stored of sessions, as it came. */
#ifndef GPUFL_BACKEND_STORE_STORE_SESSIONS_H
#define GPUFL_BACKEND_STORE_STORE_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/store/store.h"
#include "schema/layout.h"
#include "schema/protocol.h"

/** A session is live for as long after its last lines, and after a sender told that its
 * writer lives. Of three times that a sender tells, two may be lost. */
#define STORE_LIVE_MS (3 * PROTOCOL_ALIVE_AFTER_MS)

/** What is known of a session's end; the numbers are stored in the database. */
enum store_completeness {
    STORE_OPEN = 0,
    STORE_COMPLETE = 1, /**< a sender says so */
    STORE_VERIFIED = 2, /**< the ends of all streams were compared */
    STORE_ENDED = 3,    /**< the same, but bytes were lost or skipped */
};

/** One session as listed. */
struct store_session {
    int64_t id;
    char session[LAYOUT_NAME_MAX + 1];
    char app[256];
    char hostname[256];
    char kind[32];
    char gpus[512];
    int64_t start_ns, shutdown_ns;
    int64_t first_seen_ms, last_seen_ms;
    int64_t told_ms;      /**< when a sender last told that its writer lives, 0 = never */
    int64_t last_byte_ms; /**< when that had written last, by what the sender told */
    bool complete;
    bool verified;          /**< likewise, and the ends of all streams were compared */
    bool ended;             /**< they were, but bytes were lost or skipped */
    uint64_t losses, skips; /**< ranges, of all streams */
    uint64_t lines, raw_bytes, stored_bytes, rejected;
    uint64_t duplicates; /**< batches that were sent again and not stored again */
    uint64_t missing;    /**< sequence numbers below the last that were not received */
};

/** One channel of a session. */
struct store_channel {
    char name[LAYOUT_CHANNEL_MAX + 1];
    uint64_t lines, raw_bytes, bodies;
    uint32_t first_sequence, last_sequence;
};

/** One stored body. */
struct store_arrival {
    const char *channel; /**< valid during the visit */
    uint32_t sequence;   /**< 0 = without identity */
    uint64_t lines;
    int64_t received_ms;
    int64_t newest_ns; /**< of its rows, 0 = it has none with a time */
};

/** Visits up to \p limit sessions from \p offset on, newest first, or the one named \p
 * only (NULL = all).
 */
GPUFL_MUST gpufl_status
store_sessions(struct store *store, const char *only, unsigned limit, unsigned offset,
               void (*visit)(void *arg, const struct store_session *session), void *arg);

/** STORE_OPEN for a session that is not known. */
GPUFL_MUST gpufl_status store_session_state(struct store *store, const char *session,
                                            enum store_completeness *out);

/** Who owned the directory from which the session was complete first: uid plus one, 0 =
 * not known. */
GPUFL_MUST gpufl_status store_claimant(struct store *store, const char *session,
                                       uint32_t *owner);

/** Visits the channels of a session. */
GPUFL_MUST gpufl_status store_channels(struct store *store, int64_t session,
                                       void (*visit)(void *arg,
                                                     const struct store_channel *channel),
                                       void *arg);

/** Visits the bodies of a session, by channel and sequence. */
GPUFL_MUST gpufl_status store_delivery(struct store *store, int64_t session,
                                       void (*visit)(void *arg,
                                                     const struct store_arrival *arrival),
                                       void *arg);

/** The bodies of a channel in sequence order, as a malloc'd array of ids, the
 * caller's.
 */
GPUFL_MUST gpufl_status store_bodies(struct store *store, int64_t session,
                                     const char *channel, int64_t **ids, size_t *count);

/** The lines of one body; *data is malloc'd, the caller's. */
GPUFL_MUST gpufl_status store_body_lines(struct store *store, int64_t body, char **data,
                                         size_t *len);

#endif
