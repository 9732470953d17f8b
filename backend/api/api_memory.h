/* SPDX-License-Identifier: Apache-2.0 */
/* GET sessions/{session_id}/memory: schema/openapi.json. */
#ifndef GPUFL_BACKEND_API_API_MEMORY_H
#define GPUFL_BACKEND_API_API_MEMORY_H

#include <stdint.h>

#include "backend/store/store.h"
#include "base/text.h"

/** Memory copies by direction, memory sets, synchronisation, allocations. Writes into \p
 * answer. \return the HTTP status. */
int api_memory(struct store *store, int64_t session, struct text *answer);

#endif
