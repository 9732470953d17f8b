/* SPDX-License-Identifier: Apache-2.0 */
/* Figures that take the driver long to tell are asked for on a thread of their own, so
 * that sampling keeps its beat; a sample takes the answer that came last. */
#ifndef GPUFL_COLLECTOR_SAMPLE_SLOW_QUERY_H
#define GPUFL_COLLECTOR_SAMPLE_SLOW_QUERY_H

#include <stdint.h>

#include "collector-lib/sample/gpu_source.h"

/** Figures of one question; the last ones are details. */
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

/** Fills \p out, which holds GPU_NOT_AVAILABLE, with what the driver tells of device \p
 * at.
 */
typedef void slow_query_ask(void *arg, unsigned at, int64_t out[SLOW_FIGURES]);

/** Starts the thread for \p devices (1 to GPU_MAX) devices.
 *  \return NULL when there is no memory or thread: the figures are not available then. */
struct slow_query *slow_query_open(unsigned devices, slow_query_ask *ask, void *arg);

/** The last answers of device \p at, GPU_NOT_AVAILABLE at first; asks for the next ones,
 *  at most once a second.
 *  Never waits. NULL is allowed. */
void slow_query_take(struct slow_query *q, unsigned at, int64_t out[SLOW_FIGURES]);

/** Waits for the question under way, at most one device's, then ends. NULL is allowed. */
void slow_query_close(struct slow_query *q);

#endif
