/* SPDX-License-Identifier: Apache-2.0 */
/* What has a time axis, thinned to the width of a picture. */
#ifndef GPUFL_BACKEND_API_SERIES_H
#define GPUFL_BACKEND_API_SERIES_H

#include <stdint.h>

#include "backend/store/store.h"

/** Which part of the time axis, in how many slices. */
struct series_span {
    int64_t from_ns; /**< 0 = the first time of the session's tables */
    int64_t to_ns;   /**< 0 = the last */
    unsigned points; /**< 1 or more */
};

/** The same with its ends known. */
struct series_axis {
    int64_t from_ns;
    int64_t to_ns;
    int64_t slice_ns; /**< 1 or more */
};

/** One slice of one device's series; values as stored, times the metric's scale. */
struct series_point {
    int64_t device; /**< DIGEST_HOST for the host */
    int64_t dt_ns;  /**< after from_ns, of the first sample in it */
    double min, max;
};

/** A scope. */
struct series_scope {
    int64_t name; /**< in NAMES_SCOPE */
    int64_t depth;
    int64_t begin_ns;
    int64_t end_ns; /**< INT64_MAX = it has not ended by to_ns */
};

GPUFL_MUST gpufl_status series_axis(struct store *store, int64_t session,
                                    const struct series_span *span,
                                    struct series_axis *out);

/** Visits the slices of a metric (its number in metrics.h), device by device, in order of
 * time. Slices without a sample are left out, and samples that say "not available". */
GPUFL_MUST gpufl_status series_metric(
    struct store *store, int64_t session, int metric, const struct series_axis *axis,
    void (*visit)(void *arg, const struct series_point *point), void *arg);

/** Visits the scopes that touch the axis, as they end, then those still open. Of those
 * shorter than a slice one is visited for each slice and depth. */
GPUFL_MUST gpufl_status
series_scopes(struct store *store, int64_t session, const struct series_axis *axis,
              void (*visit)(void *arg, const struct series_scope *scope), void *arg);

#endif
