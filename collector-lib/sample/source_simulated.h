/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated GPUs for demos and tests. */
#ifndef GPUFL_COLLECTOR_SAMPLE_SOURCE_SIMULATED_H
#define GPUFL_COLLECTOR_SAMPLE_SOURCE_SIMULATED_H

#include "collector-lib/sample/gpu_source.h"

extern const struct gpu_source gpu_source_simulated;

#endif
