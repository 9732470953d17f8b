/* SPDX-License-Identifier: Apache-2.0 */
/* Storing bodies, each once. */
#ifndef GPUFL_BACKEND_STORE_STORE_INGEST_H
#define GPUFL_BACKEND_STORE_STORE_INGEST_H

#include <stddef.h>
#include <stdint.h>

#include "backend/digest/lines.h"
#include "backend/store/codec.h"
#include "backend/store/store.h"

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

/** What the registry knows of an identity, in its session. */
enum registry {
    REGISTRY_NEW,
    REGISTRY_KNOWN,             /**< same id, same CRC */
    REGISTRY_IDENTITY_CONFLICT, /**< same id, other CRC, channel or sequence */
    REGISTRY_SEQUENCE_CONFLICT, /**< other id for this session, channel and sequence */
};

/** What identifies a batch or window. */
struct store_identity {
    const char *window_id;
    const char *session;
    const char *channel;
    uint32_t sequence;
    uint32_t crc32;
};

/** Looks an identity up. \return GPUFL_OK or GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status store_lookup(struct store *store, const struct store_identity *id,
                                     enum registry *out);

/** Stores one body, its digest, in one transaction.
 *  \return GPUFL_OK after the commit, GPUFL_BUSY when its stream is stored by positions,
 * GPUFL_ERR_AUTH when the owner of its session is known, and the channel new,
 * GPUFL_ERR_IO.
 */
GPUFL_MUST gpufl_status store_add(struct store *store, const struct store_body *body);

/** The rows of a body that was put. */
struct store_stored {
    int64_t session;
    int64_t body; /**< 0 = none */
};

/** Puts one body and its digest, within a transaction of the caller. */
GPUFL_MUST gpufl_status store_put(struct store *store, const struct store_body *body,
                                  struct store_stored *out);

/** Notes that \p session was heard of, which reopens it, within such a transaction. */
GPUFL_MUST gpufl_status store_touch(struct store *store, const char *session,
                                    struct store_stored *out);

/** Counts a batch that came again, if that can be written. */
void store_duplicate(struct store *store, const char *session);

#endif
