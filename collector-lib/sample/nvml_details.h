/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of this process, of NVLink and of errors, from NVML. Used by the slow thread.
 * */
#ifndef GPUFL_COLLECTOR_SAMPLE_NVML_DETAILS_H
#define GPUFL_COLLECTOR_SAMPLE_NVML_DETAILS_H

#include <stdint.h>

#include "collector-lib/sample/nvml_api.h"
#include "collector-lib/sample/slow_query.h"

struct nvml_details;

/** Starts counting Xid errors. \p api and the \p count (1 to GPU_MAX) handles at \p
 * device must remain valid. NULL without memory. */
struct nvml_details *nvml_details_open(const struct nvml *api, const nvml_device *device,
                                       unsigned count);
/** NULL is allowed. */
void nvml_details_close(struct nvml_details *details);

/** Fills in what is known about device \p at. \p details may be NULL. */
void nvml_details_ask(struct nvml_details *details, unsigned at,
                      int64_t out[SLOW_FIGURES]);

#endif
