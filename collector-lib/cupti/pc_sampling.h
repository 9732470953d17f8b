/* SPDX-License-Identifier: Apache-2.0 */
/* Continuous PC sampling: the hardware notes where warps stand every 2^15 cycles, for all
 * kernels of a context, without a change to how they run. Samples belong to instructions,
 * not to single launches. */
#ifndef GPUFL_COLLECTOR_CUPTI_PC_SAMPLING_H
#define GPUFL_COLLECTOR_CUPTI_PC_SAMPLING_H

#include "collector-lib/cupti/cupti_api.h"
#include "collector-lib/trace/tracer.h"

/** Samples contexts that are there (the devices' primary ones) and that come. What keeps
 * it from running is in pc_sampling_status; the trace goes on without. */
void pc_sampling_start(const struct tracer_config *config,
                       CUpti_SubscriberHandle subscriber);

/** A context or a module came or goes, on the job's thread. */
void pc_sampling_resource(CUpti_CallbackId id, const void *data);

/** Ends the sampling and fetches what is left. */
void pc_sampling_finish(void);

void pc_sampling_deliver(const struct tracer_sink *sink);
void pc_sampling_status(struct tracer_status *out);
void pc_sampling_stop(void);

#endif
