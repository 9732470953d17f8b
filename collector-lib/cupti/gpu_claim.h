/* SPDX-License-Identifier: Apache-2.0 */
/* Which process samples a GPU: the hardware serves one. A second one's sampling begins
 * without an error, then CUPTI fails in that process for good (H200, CUPTI 13.0.1).
 * Among processes of one network namespace; a claim ends with its process at the latest.
 * Not safe for several threads at once. */
#ifndef GPUFL_COLLECTOR_CUPTI_GPU_CLAIM_H
#define GPUFL_COLLECTOR_CUPTI_GPU_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

/** False when another process has \p device, CUDA's number of it; true when this one has
 * it, or nobody can tell. */
bool gpu_claim(uint32_t device);

/** Gives up all that this process has. */
void gpu_claim_drop_all(void);

#endif
