/* SPDX-License-Identifier: Apache-2.0 */
/* Correlation ids that a framework pushed around its launches. */
#ifndef GPUFL_COLLECTOR_CUPTI_EXTERNAL_IDS_H
#define GPUFL_COLLECTOR_CUPTI_EXTERNAL_IDS_H

#include "collector-lib/trace/tracer.h"

/** Sets the innermost id of this thread, if there is one, in \p call. */
void external_ids_ask(struct trace_call *call);

#endif
