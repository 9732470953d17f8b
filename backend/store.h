/* SPDX-License-Identifier: Apache-2.0 */
/* Everything stored, in one SQLite file. A call returns after its commit is on disk. */
#ifndef GPUFL_BACKEND_STORE_H
#define GPUFL_BACKEND_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "backend/decode.h"
#include "backend/lines.h"

struct store;

/** One POST, checked and ready. */
struct store_body {
    const char *session;
    const char *channel;
    const char *window_id; /**< NULL = no identity */
    uint32_t sequence;     /**< with an identity */
    uint32_t crc32;
    enum encoding encoding;
    const void *data;
    size_t len;
    size_t raw_len;
    const struct lines *lines;
    const char *hostname; /**< of the sender, may be "" */
};

/** What the registry knows of an identity. */
enum registry {
    REGISTRY_NEW,
    REGISTRY_KNOWN,             /**< same id, same CRC */
    REGISTRY_IDENTITY_CONFLICT, /**< same id, other CRC, session, channel or sequence */
    REGISTRY_SEQUENCE_CONFLICT, /**< other id for this session, channel and sequence */
};

/** One session as listed. */
struct store_session {
    int64_t id;
    char session[129];
    char app[256];
    char hostname[256];
    char kind[32];
    char gpus[512];
    int64_t start_ns, shutdown_ns;
    int64_t first_seen_ms, last_seen_ms;
    bool complete;
    uint64_t lines, raw_bytes, stored_bytes, rejected;
    uint64_t duplicates; /**< batches that came again and were not stored again */
    uint64_t missing;    /**< numbers of batches below the last that did not come */
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

/** Opens or makes \p path. On failure \p why holds one sentence. */
GPUFL_MUST gpufl_status store_open(const char *path, struct store **out, char why[256]);
void store_close(struct store *store);

/** Looks an identity up. \return GPUFL_OK or GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status store_lookup(struct store *store, const char *window_id,
                                     const char *session, const char *channel,
                                     uint32_t sequence, uint32_t crc32,
                                     enum registry *out);

/** Stores one body, its samples and what it says of its session, in one transaction.
 *  \return GPUFL_OK after the commit, GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status store_add(struct store *store, const struct store_body *body);

/** Marks a session complete. \return GPUFL_OK, GPUFL_ERR_NOT_FOUND, GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status store_complete(struct store *store, const char *session);

/** Visits up to \p limit sessions from \p offset on, newest first, or the one named \p
 * only (NULL = all).
 */
GPUFL_MUST gpufl_status
store_sessions(struct store *store, const char *only, unsigned limit, unsigned offset,
               void (*visit)(void *arg, const struct store_session *session), void *arg);

/** Counts a batch that came again. */
GPUFL_MUST gpufl_status store_duplicate(struct store *store, const char *session);

/** Visits the bodies of a session, by channel and sequence. */
GPUFL_MUST gpufl_status store_delivery(struct store *store, int64_t session,
                                       void (*visit)(void *arg,
                                                     const struct store_arrival *arrival),
                                       void *arg);

/** Bytes of the database that are in use. */
uint64_t store_bytes(struct store *store);

/** The session that was heard of longest ago: id, session and last_seen_ms of \p out.
 * \p sessions: how many there are; with 0 there is none. */
GPUFL_MUST gpufl_status store_oldest(struct store *store, struct store_session *out,
                                     unsigned *sessions);

/** Deletes up to \p bodies bodies of a session and, once it has none, the session with
 * all that is shown of it. Their ids are forgotten: what comes again is stored again.
 * \return GPUFL_OK, GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status store_delete(struct store *store, int64_t session,
                                     unsigned bodies);

/** Visits the channels of a session. */
GPUFL_MUST gpufl_status store_channels(struct store *store, int64_t session,
                                       void (*visit)(void *arg,
                                                     const struct store_channel *channel),
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
