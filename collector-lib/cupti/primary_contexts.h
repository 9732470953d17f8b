/* SPDX-License-Identifier: Apache-2.0 */
/* The contexts that the CUDA runtime uses; they may exist before we are loaded. */
#ifndef GPUFL_COLLECTOR_CUPTI_PRIMARY_CONTEXTS_H
#define GPUFL_COLLECTOR_CUPTI_PRIMARY_CONTEXTS_H

#include "collector-lib/cupti/cupti_api.h"

/** Calls \p visit for the primary context of each device that has one. */
void primary_contexts_visit(void (*visit)(CUcontext context));

#endif
