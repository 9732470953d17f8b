/* SPDX-License-Identifier: Apache-2.0 */
/* Gives what the backend tells of the ends of streams to those that asked, and asks again
 * later where it tells nothing. */
#include "upload/engine/ends_ack.h"

#include "base/log.h"
#include "upload/core/expired.h"
#include "upload/core/owner_standing.h"
#include "upload/core/session_streams.h"
#include "upload/http/reply.h"
#include "upload/http/reply_positions.h"
#include "upload/lifecycle/end_parting.h"
#include "upload/lifecycle/end_seek.h"
#include "upload/pace/backoff.h"

#define ENDS_BASE_MS 1000u
#define ENDS_CAP_MS  60000u

static void ends_again(struct session *session, uint64_t now_ms)
{
    for (unsigned i = 0; i < session->streams; i++) {
        struct stream *st = session->stream[i];
        if (!stream_knows_end(st) && st->rest == STREAM_PENDING && !st->offer) {
            stream_enqueue(st, false, now_ms);
        }
    }
}

/* \return false if the answer is none. */
static bool ends_read(struct session *session, const struct transport_reply *reply,
                      uint64_t now_ms)
{
    struct reply_streams told;
    reply_read_ends(reply->status, reply->body, reply->body_len, &told);
    if (told.readable) {
        origin_note_epoch(&session->root->engine->origin, told.epoch, told.database);
        end_seek_told_all(session, &told, now_ms);
    }
    return told.readable;
}

/* Likewise. In another epoch, the end itself may be another one. */
static bool ends_read_place(struct session *session, const struct transport_reply *reply,
                            uint64_t now_ms)
{
    struct engine *engine = session->root->engine;
    struct stream *st = end_parting_asks(session);
    struct reply_place told;
    reply_read_place(reply->status, reply->body, reply->body_len, &told);
    if (st && told.epoch && told.epoch != engine->origin.epoch) {
        end_parting_drop(st);
    } else if (st) {
        end_parting_told(st, &told);
    }
    origin_note_epoch(&engine->origin, told.epoch, told.database);
    if (st && told.what == PLACE_EXPIRED) {
        end_parting_drop(st);
        expired_note(st);
    }
    ends_again(session, now_ms);
    return told.what != PLACE_UNREADABLE;
}

/* The origin works, and does not tell this. */
static void ends_refused(struct session *session, const struct transport_reply *reply)
{
    struct engine *engine = session->root->engine;
    char why[256];
    reply_failure(reply, why);
    if (session->ends_refused != reply->status) {
        session->ends_refused = reply->status;
        engine->trouble.stamp++;
        log_warn(engine->config.log, "session.ends_refused",
                 "session=%s status=%d reason=\"%s\"", session->id, reply->status, why);
    }
    trouble_say(
        &engine->trouble,
        "session %s waits, as the backend does not tell how far it has it: %.150s",
        session->id, why);
}

/* The session waits by itself, or everything does. */
static void ends_failed(struct session *session, const struct transport_reply *reply,
                        uint64_t now_ms)
{
    struct engine *engine = session->root->engine;
    session->ends_at_ms =
        now_ms + backoff_ms(engine->config.sys, ++session->ends_failures, ENDS_BASE_MS,
                            ENDS_CAP_MS, reply->retry_after_ms);
    (void)owner_failed(session, now_ms);
    if (reply->status == 0 || reply->status >= 500 || reply->status == 429) {
        counters_note_retry(&engine->counters, reply);
        origin_failed_to_tell(&engine->origin, reply, now_ms);
    } else if (reply->status == 401 || reply->status == 403 || reply->status < 400) {
        origin_refused(&engine->origin, reply, now_ms);
    } else {
        ends_refused(session, reply);
    }
    ends_again(session, session->ends_at_ms);
}

static void ends_told(struct session *session)
{
    session->root->engine->trouble.stamp += session->ends_refused != 0;
    session->ends_refused = 0;
}

void ends_ack_reply(struct session *session, const struct transport_reply *reply,
                    uint64_t now_ms)
{
    struct engine *engine = session->root->engine;
    session->ends_in_flight = false;
    engine->origin.answered = engine->origin.answered || reply->status != 0;
    if (reply->kind == TRANSPORT_PLACE ? ends_read_place(session, reply, now_ms)
                                       : ends_read(session, reply, now_ms)) {
        session->ends_failures = 0;
        session->ends_at_ms = 0;
        ends_told(session);
        owner_ok(session);
    } else {
        ends_failed(session, reply, now_ms);
    }
}
