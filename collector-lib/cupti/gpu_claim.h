/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which process samples a GPU, since the hardware supports one at a time: a
 * second process starts sampling without an error, then CUPTI fails in it for good
 * (H200, CUPTI 13.0.1). Among processes that have loaded the driver's library from the
 * same file, as containers do that have it from the host, or that are in one network
 * namespace. A claim ends with its process at the latest. For one thread at a time. */
#ifndef GPUFL_COLLECTOR_CUPTI_GPU_CLAIM_H
#define GPUFL_COLLECTOR_CUPTI_GPU_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

/** Claims \p device, a number of CUDA. False if another process has it; true if this
 * one has it, or it cannot be decided. */
bool gpu_claim(uint32_t device);

/** Releases all claims of this process. */
void gpu_claim_drop_all(void);

#endif
