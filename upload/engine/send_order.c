/* SPDX-License-Identifier: Apache-2.0 */
/* Picks the stream of which an offer is made, and the offer that is sent, by owner. */
#include "upload/engine/send_order.h"

#include <stddef.h>

#include "upload/core/offer.h"
#include "upload/core/owner_standing.h"
#include "upload/core/registry.h"

#define SMALL_ENOUGH 32u
/* One request in so many is for the backlog, however many live streams wait. */
#define BACKLOG_SHARE 8u

/* One that fails alone, or whose session waits, blocks no other. */
static bool send_order_counts(const struct offer *offer, uint64_t now_ms)
{
    return offer->failures_alone == 0 && !offer->decoding && !offer_waits(offer, now_ms);
}

void send_order_count_full(struct engine *engine, uint64_t now_ms)
{
    engine->full_offers = engine->full_in_flight = 0;
    for (const struct offer *o = engine->offers; o; o = o->next) {
        bool full = offer_is_full(o);
        engine->full_offers += full && send_order_counts(o, now_ms);
        engine->full_in_flight += full && o->state == OFFER_IN_FLIGHT;
    }
}

/* One more than may be under way. */
bool send_order_has_room_for_full(const struct engine *engine)
{
    return engine->full_offers <= pace_batches(&engine->origin.pace);
}

bool send_order_keeps_pace(const struct offer *offer)
{
    const struct engine *engine = offer->stream->session->root->engine;
    return engine->full_in_flight < pace_batches(&engine->origin.pace) ||
           !offer_is_full(offer);
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

static bool send_order_may_offer(const struct stream *st, uint64_t now_ms)
{
    const struct session *session = st->session;
    return !st->offer && session->state == SESSION_OPEN && !stream_waits(st, now_ms);
}

/* What is chosen now. */
struct order_choice {
    struct engine *engine;
    uint64_t now_ms;
    bool any_owner; /* else one of whom no offer waits */
};

/* Takes a stream that is due; one that waits for something else than time or its session
 * is queued again when its offer is settled, or on a change. */
static enum lanes_choice send_order_choose(void *arg, struct queue_node *node)
{
    const struct order_choice *choice = arg;
    struct stream *st = stream_of(node);
    if (!choice->any_owner &&
        (send_order_is_marked(choice->engine, session_lane(st->session)) ||
         !owner_may_go(st->session, choice->now_ms))) {
        return LANES_PASS_OWNER;
    }
    bool ready = st->due_ms <= choice->now_ms && send_order_may_offer(st, choice->now_ms);
    bool idle = st->offer || stream_held(st) || st->session->state != SESSION_OPEN;
    st->queued = !ready && !idle;
    return ready ? LANES_TAKE : idle ? LANES_DROP : LANES_PASS;
}

/* Live streams go first, but do not keep the backlog from going on: a session of somebody
 * else that has ended is in it. */
static struct stream *send_order_take_small(struct order_choice *choice)
{
    struct engine *engine = choice->engine;
    bool backlog_first = engine->live_in_a_row + 1 >= BACKLOG_SHARE;
    struct lanes *first = backlog_first ? &engine->backlog : &engine->live;
    struct lanes *second = backlog_first ? &engine->live : &engine->backlog;
    struct queue_node *node = lanes_take(first, send_order_choose, choice);
    struct lanes *from = node ? first : second;
    node = node ? node : lanes_take(second, send_order_choose, choice);
    if (node) {
        engine->live_in_a_row =
            from == &engine->backlog ? 0 : engine->live_in_a_row + !backlog_first;
    }
    return stream_of(node);
}

static struct stream *send_order_take_bulk(struct order_choice choice)
{
    struct engine *engine = choice.engine;
    choice.any_owner = choice.any_owner && send_order_has_room_for_full(engine);
    return !bucket_may_owe(&engine->bucket, choice.now_ms)
               ? NULL
               : stream_of(lanes_take(&engine->bulk, send_order_choose, &choice));
}

struct stream *send_order_take(struct engine *engine, bool any_owner, bool *token,
                               uint64_t now_ms)
{
    struct order_choice choice = {
        .engine = engine, .now_ms = now_ms, .any_owner = any_owner};
    bool bulk_first = engine->small_in_a_row + 1 >= BACKLOG_SHARE;
    struct stream *st = bulk_first ? send_order_take_bulk(choice) : NULL;
    *token = !st && bucket_take(&engine->bucket, now_ms) == 0;
    if (*token && !(st = send_order_take_small(&choice))) {
        bucket_return(&engine->bucket);
        *token = false;
    }
    st = st || bulk_first ? st : send_order_take_bulk(choice);
    if (st) {
        engine->small_in_a_row = *token ? engine->small_in_a_row + 1 : 0;
    }
    return st;
}

void send_order_rewind(struct engine *engine)
{
    lanes_rewind(&engine->live);
    lanes_rewind(&engine->backlog);
    lanes_rewind(&engine->bulk);
}

/* One that is sent again, or was made before a restart, has no token. */
static bool send_order_is_paid(const struct offer *offer, uint64_t now_ms)
{
    return offer->paid || offer_is_full(offer) ||
           bucket_wait(&offer->stream->session->root->engine->bucket, now_ms) == 0;
}

bool send_order_is_due(const struct offer *offer, uint64_t now_ms)
{
    return offer->state == OFFER_WAITING && now_ms >= offer->retry_at_ms &&
           send_order_keeps_pace(offer) && send_order_is_paid(offer, now_ms) &&
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
