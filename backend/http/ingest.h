/* SPDX-License-Identifier: Apache-2.0 */
/* POST events/stream: from a body and its headers to an answer. */
#ifndef GPUFL_BACKEND_HTTP_INGEST_H
#define GPUFL_BACKEND_HTTP_INGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/store/retention.h"
#include "backend/store/store.h"
#include "base/text.h"

/** One request as received. NULL = header missing. */
struct ingest_request {
    const char *session;
    const char *hostname;
    const char *encoding;
    const char *window_id;
    const char *window_channel;
    const char *window_sequence;
    const char *window_crc32;
    const void *body;
    size_t len;
    bool too_large; /**< the body exceeded the limit and was not kept */
};

/** Handles it. \return the HTTP status; \p answer gets the JSON body. Ids are looked up
 * before room, size, encoding and content are judged, so a refusal proves that nothing
 * was stored. */
int ingest(struct store *store, const struct retention *retention,
           const struct ingest_request *request, struct text *answer);

/** Writes an error. \return \p status. */
int ingest_refuse(struct text *answer, int status, const char *error,
                  const char *message);

/** The answer to a body of more than PROTOCOL_MAX_BODY_BYTES. */
int ingest_refuse_large(struct text *answer);

/** Decodes the body. *raw is malloc'd, the caller's. \return 0, or the status of a
 * refusal. */
int ingest_decode(const struct ingest_request *request, char **raw, size_t *raw_len,
                  struct text *answer);

/** The answer when something could not be written: 507 on a full disk, 503 where
 * a file of the database was removed or replaced, else 500. */
int ingest_refuse_unwritten(const struct store *store, struct text *answer);

#endif
