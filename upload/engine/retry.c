/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when an offer is sent again, and counts why. */
#include "upload/engine/retry.h"

#include <stdio.h>

#include "base/log.h"
#include "upload/core/owner_standing.h"
#include "upload/http/reply.h"
#include "upload/pace/backoff.h"

#define ALONE_BASE_MS  1000u
#define ALONE_CAP_MS   300000u
#define ALONE_REPORTED 8u

void retry_after_failure(struct offer *offer, const struct transport_reply *reply,
                         uint64_t now_ms)
{
    struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    struct origin *origin = &engine->origin;
    bool answered = reply->status >= 500;
    /* Others succeed while this one, or what its owner sends, fails: it backs off alone.
     */
    bool own = owner_failed(st->session, now_ms);
    bool while_others =
        own || (offer->failed && origin->successes > offer->successes_before);
    bool alone = answered && while_others;
    counters_note_retry(&engine->counters, reply);
    offer->state = OFFER_WAITING;
    offer->retry_at_ms = now_ms;
    if (!offer->failed) {
        offer->failed = true;
        offer->successes_before = origin->successes;
    }
    if (alone) {
        offer->failures_alone++;
        offer->retry_at_ms =
            now_ms + backoff_ms(engine->config.sys, offer->failures_alone, ALONE_BASE_MS,
                                ALONE_CAP_MS, reply->retry_after_ms);
    }
    if (alone || engine->frame_bytes > FRAME_BYTES_IN_FLIGHT / 2) {
        offer_drop_frame(engine, offer); /* others need the room */
    }
    offer_to_back(engine, offer); /* the next probe is another stream's */
    if (!alone) {
        origin_failed(&engine->origin, reply, now_ms);
    }
    char why[256];
    reply_failure(reply, why);
    if (origin->failures == 1 || offer->failures_alone == ALONE_REPORTED) {
        log_warn(engine->config.log, "upload.retry",
                 "session=%s channel=%s status=%d reason=\"%s\" alone=%u",
                 st->session->id, stream_channel(st), reply->status, why,
                 offer->failures_alone);
    }
    trouble_say(&engine->trouble, "%s", why);
}

void retry_alone(struct offer *offer, const char *why, uint64_t now_ms)
{
    struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    snprintf(offer->waits_why, sizeof offer->waits_why, "%s", why);
    if (offer->failures_alone++ == 0) {
        engine->trouble.stamp++;
        log_warn(engine->config.log, "upload.retry",
                 "session=%s channel=%s reason=\"%s\" alone=1", st->session->id,
                 stream_channel(st), why);
    }
    trouble_say(&engine->trouble, "session %s, channel %s waits: %s", st->session->id,
                stream_channel(st), why);
    offer->state = OFFER_WAITING;
    offer->retry_at_ms = now_ms + backoff_ms(engine->config.sys, offer->failures_alone,
                                             ALONE_BASE_MS, ALONE_CAP_MS, 0);
    offer_drop_frame(engine, offer);
    offer_to_back(engine, offer);
}

void retry_at_quota(struct offer *offer, int status, uint64_t now_ms)
{
    const char *why = status == 402 ? "the workspace is at its limit (402)"
                                    : "the backend has no room (verdict full)";
    struct session *session = offer->stream->session;
    struct engine *engine = session->root->engine;
    if (session->hold_until_ms == 0) {
        log_error(engine->config.log, "session.quota",
                  "session=%s reason=\"%s\" note=\"retried every minute\"", session->id,
                  why);
    }
    trouble_say(&engine->trouble, "%s, session %s waits", why, session->id);
    offer->state = OFFER_WAITING;
    offer_drop_frame(engine, offer);
    session->hold_until_ms = now_ms + ORIGIN_SLOW_RETRY_MS;
    engine->at_quota = true;
    engine->quota_status = status == 402 ? status : 0;
}

void retry_plain_codec(struct offer *offer, uint64_t now_ms)
{
    struct engine *engine = offer->stream->session->root->engine;
    log_warn(engine->config.log, "origin.no_zstd",
             "status=415 note=\"sending gzip from now on\"");
    engine->origin.no_zstd_ever = true;
    offer_drop_frame(engine, offer); /* encoded anew, as gzip, when it is sent */
    offer->state = OFFER_WAITING;
    offer->retry_at_ms = now_ms;
}

void retry_when_mended(struct offer *offer, const struct transport_reply *reply,
                       uint64_t now_ms)
{
    struct engine *engine = offer->stream->session->root->engine;
    bool key = reply->status == 401;
    if (owner_failed(offer->stream->session, now_ms) && !key) {
        char why[256]; /* as from something in front of the backend that judges lines */
        reply_failure(reply, why);
        retry_alone(offer, why, now_ms);
        return;
    }
    offer->state = OFFER_WAITING;
    offer->failed = true;
    offer_to_back(engine, offer); /* the next probe is another stream's */
    origin_refused(&engine->origin, reply, now_ms);
}
