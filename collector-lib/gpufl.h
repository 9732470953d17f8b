/* SPDX-License-Identifier: Apache-2.0 */
/* What libgpufl.so offers to libgpufl-inject.so alone. */
#ifndef GPUFL_COLLECTOR_GPUFL_H
#define GPUFL_COLLECTOR_GPUFL_H

#include <gpufl/gpufl.h>

/** Like gpufl_init, but leaves a session alone that the program itself has begun, or is
 * about to begin or end on any thread, which it does not wait for: then it says so, and
 * \return GPUFL_BUSY. */
GPUFL_API gpufl_status gpufl_init_injected(const struct gpufl_init_options *options);

#endif
