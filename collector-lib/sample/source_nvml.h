/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA devices, read with NVML. */
#ifndef GPUFL_COLLECTOR_SAMPLE_SOURCE_NVML_H
#define GPUFL_COLLECTOR_SAMPLE_SOURCE_NVML_H

#include "collector-lib/sample/gpu_source.h"

extern const struct gpu_source gpu_source_nvml;

#endif
