/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the source of device figures. */
#include "collector-lib/sample/gpu.h"

#include <stddef.h>

#include "collector-lib/sample/source_amdgpu.h"
#include "collector-lib/sample/source_nvml.h"
#include "collector-lib/sample/source_simulated.h"

/* In order of preference: real devices before simulated ones. */
static const struct gpu_source *const sources[] = {
    &gpu_source_nvml,
    &gpu_source_amdgpu,
    &gpu_source_simulated,
};

static bool source_wanted(const struct gpu_source *source, enum gpufl_backend_kind kind)
{
    if (source == &gpu_source_simulated) {
        return true; /* it opens only if simulated GPUs were requested */
    }
    return kind == GPUFL_BACKEND_AUTO || source->kind == kind;
}

struct gpu gpu_open(enum gpufl_backend_kind kind, const struct gpu_wish *wish)
{
    struct gpu gpu = {0};
    if (kind == GPUFL_BACKEND_NONE) {
        return gpu;
    }
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        if (!source_wanted(sources[i], kind)) {
            continue;
        }
        gpu.handle = sources[i]->open(wish);
        if (gpu.handle) {
            gpu.source = sources[i];
            gpu.count = gpu.source->count(gpu.handle);
            break;
        }
    }
    return gpu;
}

void gpu_close(struct gpu *gpu)
{
    if (gpu->handle) {
        gpu->source->close(gpu->handle);
    }
    *gpu = (struct gpu){0};
}
