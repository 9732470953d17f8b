/* SPDX-License-Identifier: Apache-2.0 */
/* The configurations of kernels that already have a kernel_detail record. */
#ifndef GPUFL_COLLECTOR_TRACE_KERNEL_CONFIGS_H
#define GPUFL_COLLECTOR_TRACE_KERNEL_CONFIGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector-lib/trace/launches.h"
#include "collector-lib/trace/tracer.h"

/** Zero-initialise, then call kernel_configs_init; release with kernel_configs_fini. */
struct kernel_configs {
    struct kernel_config *slot;
    size_t count;
};

/** False without memory. */
bool kernel_configs_init(struct kernel_configs *configs);
void kernel_configs_fini(struct kernel_configs *configs);

/** Forgets all configurations: each needs a detail again. */
void kernel_configs_forget(struct kernel_configs *configs);

/** Returns the correlation id of the launch whose detail describes \p kernel. If \p
 * is_new, it is this launch, and the caller writes the detail. */
uint32_t kernel_configs_detail(struct kernel_configs *configs,
                               const struct trace_kernel *kernel, uint32_t kernel_id,
                               const struct launch *launch, bool *is_new);

#endif
