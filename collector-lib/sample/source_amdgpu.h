/* SPDX-License-Identifier: Apache-2.0 */
/* AMD devices, read from the files of the amdgpu driver. */
#ifndef GPUFL_COLLECTOR_SAMPLE_SOURCE_AMDGPU_H
#define GPUFL_COLLECTOR_SAMPLE_SOURCE_AMDGPU_H

#include "collector-lib/sample/gpu_source.h"

extern const struct gpu_source gpu_source_amdgpu;

#endif
