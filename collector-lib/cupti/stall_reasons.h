/* SPDX-License-Identifier: Apache-2.0 */
/* The stall reasons that the hardware reports. */
#ifndef GPUFL_COLLECTOR_CUPTI_STALL_REASONS_H
#define GPUFL_COLLECTOR_CUPTI_STALL_REASONS_H

#include <stddef.h>
#include <stdint.h>

#include "collector-lib/cupti/cupti_api.h"

/** Those of one context. Zero-initialise; release with stall_reasons_fini. */
struct stall_reasons {
    size_t count;
    uint32_t *index; /**< CUPTI's numbers */
    char **name;     /**< by position, not by number */
};

CUptiResult stall_reasons_read(struct stall_reasons *reasons, CUcontext context);
void stall_reasons_fini(struct stall_reasons *reasons);

/** The name of the reason \p index without its prefix; lives as long as the process.
 * For one thread at a time. */
const char *stall_reasons_name(const struct stall_reasons *reasons, uint32_t index);

#endif
