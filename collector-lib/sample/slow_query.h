/* SPDX-License-Identifier: Apache-2.0 */
/* Queries that take the driver long run on a thread of their own, so that they do not
 * delay samples. A sample takes the latest answer. */
#ifndef GPUFL_COLLECTOR_SAMPLE_SLOW_QUERY_H
#define GPUFL_COLLECTOR_SAMPLE_SLOW_QUERY_H

#include <stdint.h>

#include "collector-lib/sample/gpu_source.h"

/** The figures of one query; those from SLOW_OWN_USED on are details. */
enum slow_figure {
    SLOW_PCIE_RX,
    SLOW_PCIE_TX,
    SLOW_ENERGY,
    SLOW_OWN_USED,
    SLOW_OWN_UTIL,
    SLOW_NVLINK_RX,
    SLOW_NVLINK_TX,
    SLOW_XID_COUNT,
    SLOW_LAST_XID,
    SLOW_FIGURES
};

struct slow_query;

/** Fills in \p out for device \p at. Each figure is GPU_NOT_AVAILABLE before the call. */
typedef void slow_query_ask(void *arg, unsigned at, int64_t out[SLOW_FIGURES]);

/** Starts the thread for \p devices (1 to GPU_MAX) devices. \return NULL without memory
 * or thread; the figures are then not available. */
struct slow_query *slow_query_open(unsigned devices, slow_query_ask *ask, void *arg);

/** Returns the latest figures of device \p at, GPU_NOT_AVAILABLE at first, and requests
 * the next ones, at most once a second. Never blocks. NULL is allowed. */
void slow_query_take(struct slow_query *q, unsigned at, int64_t out[SLOW_FIGURES]);

/** Waits for the query in progress, that of one device at most, and ends the thread.
 * NULL is allowed. */
void slow_query_close(struct slow_query *q);

#endif
