/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a session. */
#ifndef GPUFL_BACKEND_API_API_STATE_H
#define GPUFL_BACKEND_API_API_STATE_H

#include <stdint.h>

#include "backend/store/store_sessions.h"

/** One that is live and of which nothing came for so long is silent. */
#define API_SILENT_MS 15000

/** What is stored of \p session, and was told of it, proves at \p now_ms, as
 * schema/openapi.json names it. */
const char *api_state(const struct store_session *session, int64_t now_ms);

/** \return since when a session that is live is silent, in ms since 1970; 0 = it is not.
 */
int64_t api_silent_since_ms(const struct store_session *session, int64_t now_ms);

#endif
