/* SPDX-License-Identifier: Apache-2.0 */
/* GET sessions/{session_id}/hotspots: schema/openapi.json. */
#ifndef GPUFL_BACKEND_API_API_HOTSPOTS_H
#define GPUFL_BACKEND_API_API_HOTSPOTS_H

#include <stdint.h>

#include "backend/api/query.h"
#include "backend/store/store.h"
#include "base/text.h"

/** PC samples by function, with stall reasons. Writes into
 * \p answer. \return the HTTP status. */
int api_hotspots(struct store *store, int64_t session, const struct query_page *page,
                 struct text *answer);

#endif
