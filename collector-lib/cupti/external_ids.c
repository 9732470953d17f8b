/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the id on top of the stack that CUPTI keeps for each thread and kind. */
#include "collector-lib/cupti/external_ids.h"

#include <stdint.h>

#include "collector-lib/cupti/cupti_api.h"

/* Reading an id takes 135 ns for each kind (H200, CUPTI 13.0.1): after ASK_ALWAYS
 * launches without one, a thread reads at one launch in ASK_EVERY. */
#define ASK_ALWAYS 1024u
#define ASK_EVERY  16u

/* The id on top of this thread's stack. It can only be read by popping it and pushing
 * it again. */
static bool top_id(CUpti_ExternalCorrelationKind kind, uint64_t *id)
{
    return cupti.ActivityPopExternalCorrelationId(kind, id) == CUPTI_SUCCESS &&
           cupti.ActivityPushExternalCorrelationId(kind, *id) == CUPTI_SUCCESS;
}

void external_ids_ask(struct trace_call *call)
{
    static const CUpti_ExternalCorrelationKind kinds[] = {
        CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, /* PyTorch, then JAX */
        CUPTI_EXTERNAL_CORRELATION_KIND_UNKNOWN, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1,
        CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, CUPTI_EXTERNAL_CORRELATION_KIND_OPENACC};
    static _Thread_local unsigned without; /* launches since the last id */
    if (!cupti.ActivityPopExternalCorrelationId ||
        !cupti.ActivityPushExternalCorrelationId ||
        (++without > ASK_ALWAYS && without % ASK_EVERY != 0)) {
        return;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (top_id(kinds[i], &call->external_id)) {
            call->external_kind = (uint8_t)kinds[i];
            without = 0;
            return;
        }
    }
}
