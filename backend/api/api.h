/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON queries over what is stored. */
#ifndef GPUFL_BACKEND_API_API_H
#define GPUFL_BACKEND_API_API_H

#include "backend/api/query.h"
#include "backend/store/store.h"
#include "base/text.h"

/** GET sessions. \return the HTTP status. */
int api_sessions(struct store *store, const struct query_page *page, struct text *answer);

/** GET sessions/{id}. \return the HTTP status. */
int api_session(struct store *store, const char *session, struct text *answer);

#endif
