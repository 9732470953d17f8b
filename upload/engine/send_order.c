/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the offers that wait, and picks the next one by its owner. */
#include "upload/engine/send_order.h"

#include <stddef.h>

#include "upload/core/offer.h"
#include "upload/core/owner_standing.h"
#include "upload/core/registry.h"

#define SMALL_ENOUGH 32u

/* One that fails alone, or whose session waits, blocks no other. */
static bool send_order_counts(const struct offer *offer, uint64_t now_ms)
{
    return offer->failures_alone == 0 && !offer->decoding && !offer_waits(offer, now_ms);
}

bool send_order_has_room(const struct engine *engine, uint64_t now_ms)
{
    unsigned waiting = 0;
    bool ready = false;
    for (const struct offer *o = engine->offers; o; o = o->next) {
        bool counts = send_order_counts(o, now_ms);
        waiting += counts;
        ready = ready || (counts && o->state == OFFER_WAITING);
    }
    /* More if they are small, as one sync serves them all; not while answers, and not the
     * disk, are what takes long: a live line would wait for those that were made before
     * it. */
    bool small =
        !ready && engine->frame_bytes <= ENOUGH_FRAME_BYTES && waiting < SMALL_ENOUGH;
    return (waiting <= origin_slots(&engine->origin) ||
            (small && !origin_probing(&engine->origin))) &&
           engine->frame_bytes <= FRAME_BYTES_IN_FLIGHT;
}

bool send_order_is_due(const struct offer *offer, uint64_t now_ms)
{
    return offer->state == OFFER_WAITING && now_ms >= offer->retry_at_ms &&
           !offer_waits(offer, now_ms);
}

void send_order_mark_one(struct engine *engine, uint32_t owner)
{
    turns_take(&engine->offer_owners, owner);
}

void send_order_mark(struct engine *engine, uint64_t now_ms)
{
    engine->offer_owners_before = engine->offer_owners.count;
    for (const struct offer *o = engine->offers; o; o = o->next) {
        if (send_order_counts(o, now_ms)) {
            send_order_mark_one(engine, session_lane(o->stream->session));
        }
    }
}

bool send_order_is_marked(const struct engine *engine, uint32_t owner)
{
    return turns_last(&engine->offer_owners, owner) > engine->offer_owners_before;
}

bool send_order_by_owner(const struct engine *engine, uint64_t now_ms)
{
    const struct origin *origin = &engine->origin;
    unsigned slots = origin_slots(origin);
    unsigned busy = origin->in_flight;
    for (const struct offer *o = engine->offers; o && busy <= slots; o = o->next) {
        busy += send_order_is_due(o, now_ms);
    }
    return origin_probing(origin) || busy > slots;
}

struct offer *send_order_next(const struct engine *engine, uint64_t now_ms)
{
    struct offer *next = NULL;
    uint64_t first = UINT64_MAX;
    bool probing = origin_probing(&engine->origin);
    for (struct offer *o = engine->offers; o; o = o->next) {
        uint32_t owner = session_lane(o->stream->session);
        if (o->decoding || !send_order_is_due(o, now_ms) ||
            !owner_may_go(o->stream->session, now_ms)) {
            continue;
        }
        uint64_t turn = turns_last(&engine->send_turns, owner);
        if (turn < first || (probing && turn == first && next->failed && !o->failed)) {
            next = o;
            first = turn;
        }
    }
    return next;
}

/* An offer that has not failed yet and may go: the next probe. One that failed alone
 * waits for its own time. */
static bool send_order_has_fresh(const struct engine *engine, uint64_t now_ms)
{
    for (const struct offer *o = engine->offers; o; o = o->next) {
        if (!o->failed && !o->decoding && now_ms >= o->retry_at_ms &&
            !offer_waits(o, now_ms)) {
            return true;
        }
    }
    return false;
}

bool send_order_has_probe(const struct engine *engine, uint64_t now_ms)
{
    return origin_probing(&engine->origin) && send_order_has_fresh(engine, now_ms);
}
