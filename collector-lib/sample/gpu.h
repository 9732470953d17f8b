/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs of this machine, read from the source that answers. */
#ifndef GPUFL_COLLECTOR_SAMPLE_GPU_H
#define GPUFL_COLLECTOR_SAMPLE_GPU_H

#include "collector-lib/sample/gpu_source.h"

/** The chosen source and its handle; both are NULL if there is no GPU. */
struct gpu {
    const struct gpu_source *source;
    struct gpu_handle *handle;
    unsigned count;
};

/** Opens the first source of \p kind that answers. */
struct gpu gpu_open(enum gpufl_backend_kind kind, const struct gpu_wish *wish);
void gpu_close(struct gpu *gpu);

#endif
