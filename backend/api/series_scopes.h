/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes over time, reduced to the resolution of a chart. */
#ifndef GPUFL_BACKEND_API_SERIES_SCOPES_H
#define GPUFL_BACKEND_API_SERIES_SCOPES_H

#include "backend/api/series.h"

/** A scope. */
struct series_scope {
    int64_t name; /**< in NAMES_SCOPE */
    int64_t depth;
    int64_t begin_ns;
    int64_t end_ns; /**< INT64_MAX = it has not ended by to_ns */
};

/** Visits the scopes that touch the axis, as they end, then those still open. Of those
 * shorter than a slice one is visited for each slice and depth. */
GPUFL_MUST gpufl_status
series_scopes(struct store *store, int64_t session, const struct series_axis *axis,
              void (*visit)(void *arg, const struct series_scope *scope), void *arg);

#endif
