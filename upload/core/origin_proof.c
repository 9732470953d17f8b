/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the backend takes the key: by asking, where everything is to be sent to another
 * one than before, else by its first success. */
#include "upload/core/origin_proof.h"

#include "upload/http/key_check.h"

bool origin_takes(const struct origin *origin)
{
    return origin->state == ORIGIN_KNOWN && !origin->wants_proof;
}

void origin_ask_proof(struct origin *origin, uint64_t now_ms)
{
    struct transport_request request = {.kind = origin->by_post ? TRANSPORT_BATCH
                                                                : TRANSPORT_KEY,
                                        .body = "",
                                        .fd = -1,
                                        .tag = &origin->asks_proof};
    if (!origin->wants_proof || origin->asks_proof || origin->state != ORIGIN_KNOWN ||
        now_ms < origin->not_before_ms) {
        return;
    }
    if (origin->config->transport.submit(origin->config->transport.self, &request) ==
        GPUFL_OK) {
        origin->asks_proof = true;
        origin->in_flight++;
    }
}

void origin_on_proof(struct origin *origin, const struct transport_reply *reply,
                     uint64_t now_ms)
{
    enum transport_kind kind = origin->by_post ? TRANSPORT_BATCH : TRANSPORT_KEY;
    bool stale = origin->stale > 0;
    origin->asks_proof = false;
    origin->answered = origin->answered || reply->status != 0;
    origin->stale -= stale;
    if (stale) {
        return; /* it was about the key from before */
    }
    switch (key_check_of(kind, reply, origin->declared)) {
    case KEY_TAKEN:
        origin->proved = true;
        origin_ok(origin);
        break;
    case KEY_UNSURE:
        origin->by_post = true;
        break;
    case KEY_REFUSED:
        origin_hold(origin, reply->status, "", now_ms);
        break;
    case KEY_LATER:
        origin_failed_to_tell(origin, reply, now_ms);
        break;
    case KEY_MOVED:
    case KEY_NOWHERE:
        origin_hold(origin, reply->status,
                    reply->web_page ? ORIGIN_WEB_PAGE
                                    : "no backend answers there: check the URL",
                    now_ms);
        break;
    }
}

void origin_note_proof(struct origin *origin, const struct transport_reply *reply)
{
    if (origin->stale > 0) {
        origin->stale--;
    } else if (reply->status >= 200 && reply->status <= 299 && !reply->web_page) {
        origin->proved = true;
    }
}

void origin_forget_proof(struct origin *origin)
{
    origin->proved = origin->by_post = false;
    origin->stale = origin->in_flight;
}
