/* SPDX-License-Identifier: Apache-2.0 */
/* What a call of CUDA waits for. */
#ifndef GPUFL_COLLECTOR_CUPTI_WAIT_DETAILS_H
#define GPUFL_COLLECTOR_CUPTI_WAIT_DETAILS_H

#include <stdbool.h>

#include "collector-lib/cupti/cupti_api.h"
#include "collector-lib/trace/tracer.h"

/** The calls that wait. */
enum wait_call {
    WAIT_CALL_EVENT,
    WAIT_CALL_STREAM_FOR_EVENT,
    WAIT_CALL_STREAM,
    WAIT_CALL_CONTEXT
};

/** Fills in type, stream and event of \p wait. \p per_thread: the default stream is the
 * thread's own. */
void wait_details_fill(struct trace_wait *wait, enum wait_call call, bool per_thread,
                       const CUpti_CallbackData *data);

#endif
