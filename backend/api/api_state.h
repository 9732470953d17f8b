/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a session. */
#ifndef GPUFL_BACKEND_API_API_STATE_H
#define GPUFL_BACKEND_API_API_STATE_H

#include <stdint.h>

#include "backend/store/store_sessions.h"

/** A session is live for as long after its last lines. */
#define API_LIVE_MS 15000

/** What the stored lines of \p session prove at \p now_ms, as schema/openapi.json names
 * it. */
const char *api_state(const struct store_session *session, int64_t now_ms);

#endif
