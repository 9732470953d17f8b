/* SPDX-License-Identifier: Apache-2.0 */
/* One metric over time, reduced to the resolution of a chart. */
#ifndef GPUFL_BACKEND_API_SERIES_METRIC_H
#define GPUFL_BACKEND_API_SERIES_METRIC_H

#include "backend/api/series.h"

/** One slice of one device's series; values as stored, times the metric's scale. */
struct series_point {
    int64_t device; /**< DIGEST_HOST for the host */
    int64_t dt_ns;  /**< after from_ns, of the first sample in it */
    double min, max;
};

/** Visits the slices of a metric (its number in metric_columns.h), device by device, in
 * order of time. Slices without a sample are left out, and samples that say "not
 * available". */
GPUFL_MUST gpufl_status series_metric(
    struct store *store, int64_t session, int metric, const struct series_axis *axis,
    void (*visit)(void *arg, const struct series_point *point), void *arg);

#endif
