/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA driver tells about a device. */
#ifndef GPUFL_COLLECTOR_CUPTI_DEVICE_H
#define GPUFL_COLLECTOR_CUPTI_DEVICE_H

#include "collector-lib/cupti/cupti_api.h"
#include "collector-lib/trace/tracer.h"

/** False if the driver does not tell it. */
bool device_uuid(uint32_t ordinal, CUuuid *uuid);

/** Free bytes of the device of \p context. False if the driver does not tell it. */
bool device_memory_free(CUcontext context, size_t *bytes);

void device_describe(uint32_t ordinal, struct trace_device *out);

#endif
