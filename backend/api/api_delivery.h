/* SPDX-License-Identifier: Apache-2.0 */
/* GET sessions/{session_id}/delivery: schema/openapi.json. */
#ifndef GPUFL_BACKEND_API_API_DELIVERY_H
#define GPUFL_BACKEND_API_API_DELIVERY_H

#include <stdint.h>

#include "backend/store/store.h"
#include "base/text.h"

/** Channels with the gaps in their sequences, and the delay until lines were stored.
 * Writes into \p answer. \return the HTTP status. */
int api_delivery(struct store *store, int64_t session, struct text *answer);

#endif
