/* SPDX-License-Identifier: Apache-2.0 */
/* Theoretical occupancy: how many of a multiprocessor's warps a kernel can keep resident,
 * by the limits of the CUDA programming guide (technical specifications per compute
 * capability) and of cuda_occupancy.h: registers come in units of 256 a warp, shared
 * memory in units of 128 bytes (256 before 8.0) with 1 KiB a block for the system from
 * 8.0 on. */
#ifndef GPUFL_COLLECTOR_TRACE_OCCUPANCY_H
#define GPUFL_COLLECTOR_TRACE_OCCUPANCY_H

#include "collector-lib/trace/tracer.h"

/** Fractions of a multiprocessor's warps, 0 to 1. All but the first assume that their
 * resource is the only limit. */
struct occupancy {
    double all, registers, shared, warps, blocks;
    unsigned max_active_blocks;
    const char *limiting; /**< registers, shared_mem, warps, blocks */
};

/** All 0, and `limiting` "", if the device is not known. */
struct occupancy occupancy_of(const struct trace_device *device,
                              const struct trace_kernel *kernel);

#endif
