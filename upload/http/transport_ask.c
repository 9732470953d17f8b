/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for the reply of one request. */
#include "upload/http/transport_ask.h"

#define ASK_POLL_MS 1000u

gpufl_status transport_ask(const struct transport *transport,
                           const struct transport_request *request,
                           struct transport_reply *reply)
{
    gpufl_status status = transport->submit(transport->self, request);
    if (status != GPUFL_OK) {
        return status;
    }
    while (!transport->next(transport->self, reply)) {
        transport->poll(transport->self, ASK_POLL_MS, -1);
    }
    return GPUFL_OK;
}
