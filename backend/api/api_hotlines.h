/* SPDX-License-Identifier: Apache-2.0 */
/* GET sessions/{session_id}/hotlines: schema/openapi.json. */
#ifndef GPUFL_BACKEND_API_API_HOTLINES_H
#define GPUFL_BACKEND_API_API_HOTLINES_H

#include <stdint.h>

#include "backend/api/query.h"
#include "backend/store/store.h"
#include "base/text.h"

/** PC samples by source line, with its text where the session carries it. Writes
 * into \p answer. \return the HTTP status. */
int api_hotlines(struct store *store, int64_t session, const struct query_page *page,
                 struct text *answer);

#endif
