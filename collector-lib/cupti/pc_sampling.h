/* SPDX-License-Identifier: Apache-2.0 */
/* Continuous PC sampling: every 2^15 cycles the hardware samples the instruction and
 * stall reason of warps, for all kernels of a context and without changing how they
 * run. Samples belong to instructions, not to single launches. */
#ifndef GPUFL_COLLECTOR_CUPTI_PC_SAMPLING_H
#define GPUFL_COLLECTOR_CUPTI_PC_SAMPLING_H

#include "collector-lib/cupti/cupti_api.h"
#include "collector-lib/trace/tracer.h"

/** Samples the primary contexts that exist, and all contexts that are created later. If
 * it cannot run, pc_sampling_status says why, and tracing continues without it. */
void pc_sampling_start(const struct tracer_config *config,
                       CUpti_SubscriberHandle subscriber);

/** Handles a context that is created or destroyed, or a module that is loaded, on the
 * job's thread. */
void pc_sampling_resource(CUpti_CallbackId id, const void *data);

/** Ends sampling and fetches the last samples. */
void pc_sampling_finish(void);

void pc_sampling_deliver(const struct tracer_sink *sink);
void pc_sampling_status(struct tracer_status *out);
void pc_sampling_stop(void);

#endif
