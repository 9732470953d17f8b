/* SPDX-License-Identifier: Apache-2.0 */
/* Renders series as JSON: schema/openapi.json, /sessions/{session_id}/metrics and
 * /scopes. */
#ifndef GPUFL_BACKEND_API_API_SERIES_H
#define GPUFL_BACKEND_API_API_SERIES_H

#include "backend/api/series.h"
#include "base/text.h"

/* Each writes into \p answer. \return the HTTP status. */

/** One metric: a series for each device. */
int api_metrics(struct store *store, int64_t session, const char *metric,
                const struct series_span *span, struct text *answer);

/** Scopes, and the names that they use. */
int api_scopes(struct store *store, int64_t session, const struct series_span *span,
               struct text *answer);

#endif
