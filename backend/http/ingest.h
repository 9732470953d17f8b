/* SPDX-License-Identifier: Apache-2.0 */
/* POST events/stream: from a body and its headers to an answer. */
#ifndef GPUFL_BACKEND_HTTP_INGEST_H
#define GPUFL_BACKEND_HTTP_INGEST_H

#include "backend/http/ingest_read.h"
#include "backend/store/retention.h"
#include "backend/store/store.h"
#include "base/text.h"

/** Handles it. \return the HTTP status; \p answer gets the JSON body. Ids are looked up
 * before room, size, encoding and content are judged, so a refusal proves that nothing
 * was stored. */
int ingest(struct store *store, const struct retention *retention,
           const struct ingest_request *request, struct text *answer);

/** The answer to a body of more than PROTOCOL_MAX_BODY_BYTES. */
int ingest_refuse_large(struct text *answer);

/** The answer to a body that could not be read. \return its status. */
int ingest_answer_refusal(const struct ingest_read *read, struct text *answer);

/** The answer when something could not be written: 507 on a full disk, 503 where
 * a file of the database was removed or replaced, else 500. */
int ingest_refuse_unwritten(const struct store *store, struct text *answer);

#endif
