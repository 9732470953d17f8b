/* SPDX-License-Identifier: Apache-2.0 */
/* What a session says about itself, for GET sessions/{session_id}: schema/openapi.json.
 */
#ifndef GPUFL_BACKEND_API_API_ABOUT_H
#define GPUFL_BACKEND_API_API_ABOUT_H

#include <stdint.h>

#include "backend/store/store.h"
#include "base/text.h"

/** Writes the end of a session's object into \p answer: its time axis, metrics,
 * job_start, capabilities. \return the HTTP status. */
int api_about(struct store *store, int64_t session, struct text *answer);

#endif
