/* SPDX-License-Identifier: Apache-2.0 */
/* Repeats a question that changes nothing until there is an answer. */
#include "upload/verify/verify_ask.h"

#include <stdio.h>

#include "upload/http/key_check.h"
#include "upload/http/reply.h"
#include "upload/http/transport_ask.h"

#define ASK_TIMES       4u
#define ASK_WAIT_MS     500u /* doubles each time */
#define ASK_WAIT_MAX_MS 10000u

static bool ask_is_answer(const struct transport_reply *reply)
{
    return !reply->web_page &&
           (reply->status == 200 || reply->status == 404 || reply->status == 410);
}

static bool ask_passes(const struct transport_reply *reply)
{
    return reply->status == 0 || reply->status == 408 || reply->status == 425 ||
           reply->status == 429 || reply->status >= 500;
}

static gpufl_status ask_failed(struct verify *v, const struct transport_reply *reply)
{
    char text[160];
    if (reply->status == 0) {
        snprintf(v->why, sizeof v->why, "%s", reply->error);
        return GPUFL_ERR_CONTACT;
    }
    reply_message(reply->body, reply->body_len, text, sizeof text);
    const char *refusal = key_check_says(reply->status);
    snprintf(v->why, sizeof v->why, "%s%sHTTP %d%s%s", refusal ? refusal : "",
             refusal ? ": " : "", reply->status, text[0] ? " " : "", text);
    return reply->status == 401 ? GPUFL_ERR_AUTH : GPUFL_ERR_CONTACT;
}

void verify_wait(struct verify *v, uint64_t ms)
{
    uint64_t end_ms = v->sys->now_ms() + (ms < ASK_WAIT_MAX_MS ? ms : ASK_WAIT_MAX_MS);
    for (uint64_t now_ms; (now_ms = v->sys->now_ms()) < end_ms;) {
        v->transport->poll(v->transport->self, end_ms - now_ms, -1);
    }
}

gpufl_status verify_ask(struct verify *v, const struct transport_request *request,
                        struct transport_reply *reply)
{
    for (unsigned i = 0;; i++) {
        gpufl_status status = transport_ask(v->transport, request, reply);
        if (status != GPUFL_OK) {
            snprintf(v->why, sizeof v->why, "out of memory");
            return status;
        }
        if (ask_is_answer(reply)) {
            return GPUFL_OK;
        }
        if (!ask_passes(reply) || i + 1 == ASK_TIMES) {
            return ask_failed(v, reply);
        }
        verify_wait(v, reply->retry_after_ms ? reply->retry_after_ms : ASK_WAIT_MS << i);
    }
}
