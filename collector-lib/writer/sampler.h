/* SPDX-License-Identifier: Apache-2.0 */
/* Samples devices and host on a schedule and keeps the rows until they are written. */
#ifndef GPUFL_COLLECTOR_WRITER_SAMPLER_H
#define GPUFL_COLLECTOR_WRITER_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector-lib/core/device_table.h"
#include "collector-lib/sample/gpu_thread.h"
#include "collector-lib/sample/host.h"
#include "collector-lib/writer/metric_records.h"
#include "collector-lib/writer/session_records.h"
#include "collector-lib/writer/summary.h"

#define SAMPLER_ROWS 256u

/** Used by the writer's thread alone. Zero-initialise, then call host_open and
 * sampler_open. */
struct sampler {
    int rate_ms; /* 0 = never */
    enum gpufl_backend_kind backend;
    bool details;
    struct host host;
    struct gpu_thread *gpu;            /* NULL if no devices are wanted */
    const struct gpu_devices *devices; /* NULL until they are known */
    struct device_table *table;
    unsigned id[GPU_MAX];              /* of the devices in the table */
    struct gpu_sample sample[GPU_MAX]; /* the last figures */
    uint64_t missing;                  /* samples that the driver gave late or never */
    bool late_said;
    struct metric_row device_row[SAMPLER_ROWS];
    size_t device_rows;
    struct metric_row host_row[SAMPLER_ROWS];
    size_t host_rows;
    uint64_t device_batches, host_batches;
    int64_t next_ns;
    bool active;
};

/** Opens the devices that \p settings ask for, once `host` is open. They get
 * their numbers in \p table. Waits at most GPU_PATIENCE_MS for the GPU's driver. */
void sampler_open(struct sampler *sampler, const struct settings *settings,
                  struct device_table *table);

/** Takes the devices if the driver has told them by now. \return true if it has, and
 * there are some: once. */
bool sampler_find_devices(struct sampler *sampler);

/** Waits until \p by_ns at most for what the driver was asked; counts it as missing
 * otherwise. */
void sampler_finish(struct sampler *sampler, int64_t by_ns);

/** \return false if the driver still has its thread at \p by_ns (gpu_thread_close). */
bool sampler_close(struct sampler *sampler, int64_t by_ns);

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
