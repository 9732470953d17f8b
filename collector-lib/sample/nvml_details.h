/* SPDX-License-Identifier: Apache-2.0 */
/* What NVML tells of this process, of NVLink and of errors; of the slow thread. */
#ifndef GPUFL_COLLECTOR_SAMPLE_NVML_DETAILS_H
#define GPUFL_COLLECTOR_SAMPLE_NVML_DETAILS_H

#include <stdint.h>

#include "collector-lib/sample/nvml_api.h"
#include "collector-lib/sample/slow_query.h"

struct nvml_details;

/** Listens for Xid errors from now on. \p api and \p device, of \p count (1 to GPU_MAX)
 * devices, must stay. NULL without memory. */
struct nvml_details *nvml_details_open(const struct nvml *api, const nvml_device *device,
                                       unsigned count);
/** NULL is fine. */
void nvml_details_close(struct nvml_details *details);

/** Fills in what is known of device \p at. NULL \p details is fine. */
void nvml_details_ask(struct nvml_details *details, unsigned at,
                      int64_t out[SLOW_FIGURES]);

#endif
