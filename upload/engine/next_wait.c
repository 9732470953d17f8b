/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the earliest thing to be done. */
#include "upload/engine/next_wait.h"

#include "upload/core/offer.h"
#include "upload/core/origin_proof.h"
#include "upload/core/owner_standing.h"
#include "upload/engine/send.h"
#include "upload/engine/send_order.h"
#include "upload/lifecycle/alive.h"
#include "upload/lifecycle/completion.h"
#include "upload/lifecycle/discovery.h"
#include "upload/lifecycle/parking.h"

#define NEVER UINT64_MAX

static void next_wait_earliest(uint64_t *wait_ms, uint64_t at_ms, uint64_t now_ms)
{
    uint64_t wait = at_ms > now_ms ? at_ms - now_ms : 0;
    if (wait < *wait_ms) {
        *wait_ms = wait;
    }
}

static void next_wait_for_queue(const struct queue *queue, uint64_t *wait_ms,
                                uint64_t now_ms)
{
    for (struct queue_node *node = queue->first; node && *wait_ms > 0;
         node = node->next) {
        const struct stream *st = stream_of(node);
        const struct root *root = st->session->root;
        if (st->offer || root->away || journal_broken(root->journal)) {
            continue; /* something else must happen first */
        }
        uint64_t at = st->due_ms > st->session->hold_until_ms
                          ? st->due_ms
                          : st->session->hold_until_ms;
        next_wait_earliest(wait_ms, at, now_ms);
    }
}

static void next_wait_for_lanes(const struct lanes *lanes, uint64_t *wait_ms,
                                uint64_t now_ms)
{
    for (unsigned i = 0; i < lanes->used; i++) {
        next_wait_for_queue(&lanes->lane[i].queue, wait_ms, now_ms);
    }
}

/* An offer that waits may be sent at its own time, once its session, the origin and, if
 * it is not full, the bucket allow it. */
static void next_wait_for_offers(struct engine *engine, bool untried, bool full,
                                 uint64_t *wait_ms, uint64_t now_ms)
{
    for (const struct offer *o = engine->offers; o; o = o->next) {
        if (o->state == OFFER_WAITING && offer_is_full(o) == full &&
            send_order_keeps_pace(o) && !offer_is_held(o) &&
            !journal_broken(o->stream->session->root->journal) &&
            (!untried || owner_may_go(o->stream->session, now_ms))) {
            uint64_t hold = o->stream->session->hold_until_ms;
            next_wait_earliest(wait_ms, o->retry_at_ms > hold ? o->retry_at_ms : hold,
                               now_ms);
        }
    }
}

static void next_wait_for_unmarked(const struct engine *engine, const struct lanes *lanes,
                                   uint64_t *wait_ms, uint64_t now_ms)
{
    for (unsigned i = 0; i < lanes->used; i++) {
        struct queue_node *first = lanes->lane[i].queue.first;
        const struct session *session = first ? stream_of(first)->session : NULL;
        if (session && !send_order_is_marked(engine, session_lane(session)) &&
            owner_may_go(session, now_ms)) {
            next_wait_for_queue(&lanes->lane[i].queue, wait_ms, now_ms);
        }
    }
}

/* What goes out although the origin fails, or others have many offers. */
static uint64_t next_wait_untried_ms(struct engine *engine, uint64_t now_ms)
{
    uint64_t wait = NEVER;
    if (origin_probing(&engine->origin)) {
        next_wait_for_offers(engine, true, false, &wait, now_ms);
        next_wait_for_offers(engine, true, true, &wait, now_ms);
    }
    bool crowded =
        origin_probing(&engine->origin) || !send_order_has_room(engine, now_ms);
    bool fits = engine->frame_bytes <= FRAME_BYTES_IN_FLIGHT;
    if (fits && (crowded || !send_order_has_room_for_full(engine))) {
        send_order_mark(engine, now_ms);
        next_wait_for_unmarked(engine, &engine->bulk, &wait, now_ms);
    }
    if (fits && crowded) {
        next_wait_for_unmarked(engine, &engine->live, &wait, now_ms);
        next_wait_for_unmarked(engine, &engine->backlog, &wait, now_ms);
    }
    uint64_t tokens = bucket_wait_for_some(&engine->bucket, now_ms);
    uint64_t floor = tokens ? tokens : 1;
    return wait == NEVER || wait > floor ? wait : floor;
}

static bool next_wait_all_durable(const struct root *root)
{
    return !journal_broken(root->journal) &&
           journal_durable(root->journal) >= journal_last(root->journal);
}

static void next_wait_for_completion(struct engine *engine, uint64_t *wait_ms,
                                     uint64_t now_ms)
{
    for (const struct session *s = engine->completing; s; s = s->next_completing) {
        /* Otherwise the end of the sync wakes us. */
        if (completion_may_go(s)) {
            next_wait_earliest(wait_ms, s->complete_at_ms, now_ms);
        }
    }
}

static bool next_wait_any_parked(const struct engine *engine, uint64_t now_ms)
{
    bool lacks = send_lacks_streams(engine, now_ms);
    bool any = false;
    for (unsigned i = 0; i < engine->roots && !any; i++) {
        const struct root *root = engine->root[i];
        any = lacks ? parking_waits(root) : parking_goes_on(root);
    }
    return any;
}

/* What could be sent at once was sent: something else must happen first. */
static uint64_t next_wait_at_least(uint64_t wait_ms, uint64_t floor_ms)
{
    wait_ms = wait_ms > floor_ms ? wait_ms : floor_ms;
    return wait_ms ? wait_ms : 1;
}

static uint64_t next_wait_to_send_ms(struct engine *engine, uint64_t now_ms)
{
    struct origin *origin = &engine->origin;
    uint64_t small = NEVER;
    uint64_t full = NEVER;
    send_order_count_full(engine, now_ms);
    bool asks = origin->state == ORIGIN_KNOWN && origin->wants_proof;
    if (origin->state == ORIGIN_UNASKED || (asks && !origin->asks_proof)) {
        small = 0;
    } else if (origin_takes(origin) && origin->in_flight < origin_slots(origin)) {
        next_wait_for_offers(engine, false, false, &small, now_ms);
        next_wait_for_offers(engine, false, true, &full, now_ms);
        if (send_order_has_room(engine, now_ms) &&
            !send_order_has_probe(engine, now_ms)) {
            next_wait_for_lanes(&engine->live, &small, now_ms);
            next_wait_for_lanes(&engine->backlog, &small, now_ms);
            if (send_order_has_room_for_full(engine)) { /* else an answer wakes us */
                bool owes = !bucket_may_owe(&engine->bucket, now_ms);
                next_wait_for_lanes(&engine->bulk, owes ? &small : &full, now_ms);
            }
        }
        if (next_wait_any_parked(engine, now_ms)) {
            small = 0;
        }
        next_wait_for_completion(engine, &small, now_ms);
    }
    uint64_t floor = origin->not_before_ms > now_ms ? origin->not_before_ms - now_ms : 0;
    uint64_t tokens = bucket_wait_for_some(&engine->bucket, now_ms);
    uint64_t wait = full == NEVER ? NEVER : next_wait_at_least(full, floor);
    floor = floor > tokens ? floor : tokens;
    small = small == NEVER ? NEVER : next_wait_at_least(small, floor);
    return small < wait ? small : wait;
}

uint64_t next_wait_ms(struct engine *engine, uint64_t now_ms)
{
    if (engine->made_bytes || discovery_goes_on(engine)) {
        return 0; /* a frame was made, and there may be room for the next; or more to look
                     into */
    }
    uint64_t wait = next_wait_to_send_ms(engine, now_ms);
    uint64_t untried = next_wait_untried_ms(engine, now_ms);
    wait = untried < wait ? untried : wait;
    uint64_t alive_ms = alive_wait_ms(engine, now_ms);
    wait = alive_ms < wait ? alive_ms : wait;
    next_wait_earliest(&wait, visits_ready_ms(&engine->visits), now_ms);
    if (engine->later) {
        next_wait_earliest(&wait, engine->later->later_at_ms, now_ms);
    }
    for (unsigned i = 0; i < engine->roots; i++) {
        struct root *root = engine->root[i];
        next_wait_earliest(&wait,
                           root->away        ? root->reopen_at_ms
                           : root->list_soon ? 0
                                             : root->rescan_at_ms,
                           now_ms);
        bool news = root->progress_ticket != journal_last(root->journal) ||
                    root->progress_stamp != engine->trouble.stamp;
        if (news && !root->away && next_wait_all_durable(root)) {
            next_wait_earliest(&wait, root->progress_at_ms, now_ms);
        }
        if (root->lazy_until_ms) {
            next_wait_earliest(&wait, root->lazy_until_ms, now_ms);
        }
        if (journal_broken(root->journal)) {
            next_wait_earliest(&wait, root->journal_retry_ms, now_ms);
        }
    }
    return wait;
}
