/* SPDX-License-Identifier: Apache-2.0 */
/* Gives each reply to what has asked. */
#include "upload/engine/replies.h"

#include "base/log.h"
#include "upload/core/offer.h"
#include "upload/core/origin_proof.h"
#include "upload/engine/ack.h"
#include "upload/engine/ends_ack.h"
#include "upload/engine/origin_change.h"
#include "upload/lifecycle/alive.h"
#include "upload/lifecycle/completion.h"

#define CLOCK_SKEW_MAX_S 60

static bool replies_is_offer(const struct engine *engine, const void *tag)
{
    for (const struct offer *o = engine->offers; o; o = o->next) {
        if (o == tag) {
            return true;
        }
    }
    return false;
}

/* Warns once: records from this machine would not line up with those from others. */
static void replies_warn_of_skew(struct engine *engine)
{
    int64_t skew_s = engine->counters.clock_skew_s;
    if ((skew_s > CLOCK_SKEW_MAX_S || skew_s < -CLOCK_SKEW_MAX_S) && !engine->skew_said) {
        engine->skew_said = true;
        log_warn(
            engine->config.log, "origin.clock_skew",
            "seconds=%lld note=\"the backend's clock minus the local one: correct one of "
            "them; times are sent as they were recorded\"",
            (long long)skew_s);
    }
}

static void replies_count(struct engine *engine, const struct transport_reply *reply)
{
    struct counters *counters = &engine->counters;
    counters_note_status(&counters->answers, reply->status);
    if (reply->server_time_s) {
        counters->clock_skew_s = reply->server_time_s - engine->config.sys->wall_s();
        counters->clock_skew_known = true;
        replies_warn_of_skew(engine);
    }
}

static void replies_note_pace(struct engine *engine, const struct transport_reply *reply,
                              uint64_t now_ms)
{
    if (reply->status >= 200 && reply->status <= 299 && offer_is_full(reply->tag)) {
        pace_note_full(&engine->origin.pace, reply->took_ms, now_ms);
    }
}

/* About a session, or an offer of one. */
static void replies_handle(struct engine *engine, const struct transport_reply *reply,
                           uint64_t now_ms)
{
    bool offer = replies_is_offer(engine, reply->tag);
    const struct session *session =
        offer ? ((const struct offer *)reply->tag)->stream->session : reply->tag;
    uint32_t about = session_log_about(session);
    if (reply->kind == TRANSPORT_ENDS || reply->kind == TRANSPORT_PLACE) {
        ends_ack_reply(reply->tag, reply, now_ms);
    } else if (offer) {
        replies_note_pace(engine, reply, now_ms);
        ack_reply(reply->tag, reply, now_ms);
    } else {
        completion_on_reply(reply->tag, reply, now_ms);
    }
    log_about(engine->config.log, about);
}

bool replies_take(struct engine *engine, uint64_t now_ms)
{
    struct transport_reply reply;
    bool any = false;
    while (engine->config.transport.next(engine->config.transport.self, &reply)) {
        any = true;
        replies_count(engine, &reply);
        if (reply.tag == &engine->alive) {
            alive_on_reply(engine, &reply, now_ms);
            continue;
        }
        engine->origin.in_flight--;
        engine->origin.reply_ms = (3 * engine->origin.reply_ms + reply.took_ms) / 4;
        if (reply.tag == &engine->origin) {
            origin_on_probe(&engine->origin, &reply, now_ms);
            origin_change_settle(engine);
            continue;
        }
        if (reply.tag == &engine->origin.asks_proof) {
            origin_on_proof(&engine->origin, &reply, now_ms);
            origin_change_settle(engine);
            continue;
        }
        origin_note_proof(&engine->origin, &reply);
        engine->origin.in_flight++; /* until it is handled: what it is about stays */
        origin_change_settle(engine);
        engine->origin.in_flight--;
        replies_handle(engine, &reply, now_ms);
    }
    return any;
}
