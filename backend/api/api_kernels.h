/* SPDX-License-Identifier: Apache-2.0 */
/* GET sessions/{session_id}/kernels and /launches: schema/openapi.json. */
#ifndef GPUFL_BACKEND_API_API_KERNELS_H
#define GPUFL_BACKEND_API_API_KERNELS_H

#include <stdint.h>

#include "backend/api/query.h"
#include "backend/store/store.h"
#include "base/text.h"

/* Each writes into \p answer. \return the HTTP status. */

/** Kernels by name, the longest total first. */
int api_kernels(struct store *store, int64_t session, const struct query_page *page,
                struct text *answer);

/** GPU time by where kernels were launched, \p by "scope" or "stack", longest first;
 * another \p by is 400. */
int api_launches(struct store *store, int64_t session, const char *by,
                 const struct query_page *page, struct text *answer);

#endif
