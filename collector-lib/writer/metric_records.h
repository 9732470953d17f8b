/* SPDX-License-Identifier: Apache-2.0 */
/* The device_metric_batch and host_metric_batch records. */
#ifndef GPUFL_COLLECTOR_WRITER_METRIC_RECORDS_H
#define GPUFL_COLLECTOR_WRITER_METRIC_RECORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "collector-lib/core/record_parts.h"
#include "collector-lib/sample/gpu_source.h"
#include "collector-lib/sample/host.h"

/** One sample taken at \p mono_ns. */
struct metric_row {
    int64_t mono_ns;
    unsigned device; /* unused by host rows, as is parent */
    int parent;
    struct gpu_sample gpu;
    struct host_sample host;
};

void record_device_metrics(struct text *out, const struct record_context *context,
                           const struct metric_row *rows, size_t count, uint64_t batch_id,
                           bool details);
void record_host_metrics(struct text *out, const struct record_context *context,
                         const struct host *host, const struct metric_row *rows,
                         size_t count, uint64_t batch_id);

#endif
