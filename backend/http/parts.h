/* SPDX-License-Identifier: Apache-2.0 */
/* POST events/parts: a verdict on each part of a request. */
#ifndef GPUFL_BACKEND_HTTP_PARTS_H
#define GPUFL_BACKEND_HTTP_PARTS_H

#include "backend/http/ingest.h"

/** Handles it. \p changed is called for each part that was stored, after the commit.
 * \return the HTTP status; \p answer gets the JSON body. */
int parts_take(struct store *store, const struct retention *retention,
               const struct ingest_request *request, struct text *answer,
               void (*changed)(void *arg, const char *session), void *arg);

#endif
