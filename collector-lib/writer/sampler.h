/* SPDX-License-Identifier: Apache-2.0 */
/* Samples devices and host on a schedule and keeps the rows until they are written. */
#ifndef GPUFL_COLLECTOR_WRITER_SAMPLER_H
#define GPUFL_COLLECTOR_WRITER_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector-lib/sample/gpu.h"
#include "collector-lib/sample/host.h"
#include "collector-lib/writer/metric_records.h"
#include "collector-lib/writer/session_records.h"
#include "collector-lib/writer/summary.h"

#define SAMPLER_ROWS 256u

/** Used by the writer's thread alone. Zero-initialise, then call sampler_open. */
struct sampler {
    int rate_ms; /* 0 = never */
    bool details;
    struct host host;
    struct gpu gpu;
    struct gpu_info *info;
    struct gpu_sample *sample;
    struct metric_row device_row[SAMPLER_ROWS];
    size_t device_rows;
    struct metric_row host_row[SAMPLER_ROWS];
    size_t host_rows;
    uint64_t device_batches, host_batches;
    int64_t next_ns;
    bool active;
};

/** Opens the sources that \p settings ask for. */
void sampler_open(struct sampler *sampler, const struct settings *settings);
void sampler_close(struct sampler *sampler);

/** Reads everything now, for the records that carry host and devices. */
struct record_state sampler_state(struct sampler *sampler);

/** Switches the schedule on or off. Takes the sample that is due and adds it to \p
 * summary. */
void sampler_step(struct sampler *sampler, bool active, int64_t now_ns,
                  struct summary *summary);

/** Appends the waiting rows to \p out as batches and drops them. */
void sampler_write(struct sampler *sampler, const struct record_context *context,
                   struct text *out);

#endif
