/* SPDX-License-Identifier: Apache-2.0 */
/* Reads stream and event from the parameters of a call that waits. */
#include "collector-lib/cupti/wait_details.h"

#include <stdint.h>

static uint32_t stream_id(CUcontext context, CUstream stream, bool per_thread)
{
    uint32_t id;
    if (stream == CU_STREAM_PER_THREAD || stream == CU_STREAM_LEGACY) {
        per_thread = stream == CU_STREAM_PER_THREAD;
        stream = NULL;
    }
    return cupti.GetStreamIdEx &&
                   cupti.GetStreamIdEx(context, stream, per_thread, &id) == CUPTI_SUCCESS
               ? id
               : UINT32_MAX;
}

/* CUPTI's number of an event is not available here, but the low bits of its handle
 * distinguish events as well. */
static uint32_t event_id(CUevent event)
{
    return (uint32_t)((uintptr_t)event >> 4);
}

void wait_details_fill(struct trace_wait *wait, enum wait_call call, bool per_thread,
                       const CUpti_CallbackData *data)
{
    const cuStreamWaitEvent_params *both = data->functionParams;
    const cuStreamSynchronize_params *stream = data->functionParams;
    const cuEventSynchronize_params *event = data->functionParams;
    wait->stream = wait->event = UINT32_MAX;
    if (call == WAIT_CALL_EVENT) {
        wait->type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
        wait->event = event_id(event->hEvent);
    } else if (call == WAIT_CALL_STREAM_FOR_EVENT) {
        wait->type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
        wait->stream = stream_id(data->context, both->hStream, per_thread);
        wait->event = event_id(both->hEvent);
    } else if (call == WAIT_CALL_STREAM) {
        wait->type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
        wait->stream = stream_id(data->context, stream->hStream, per_thread);
    } else {
        wait->type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
    }
}
