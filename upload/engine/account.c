/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up the counters and the offers. */
#include "upload/engine/account.h"

#include "upload/core/offer.h"

static enum held_reason account_held(const struct offer *offer)
{
    const struct stream *st = offer->stream;
    const struct session *session = st->session;
    return !offer_is_held(offer) ? HELD_NOT
           : st->held            ? (enum held_reason)st->hold_reason
           : session->held       ? (enum held_reason)session->hold_reason
                                 : HELD_AWAY;
}

static void account_take(struct account *out, const struct counters_amount *amount)
{
    out->lines_over -= (int64_t)amount->lines;
    out->bytes_over -= (int64_t)amount->bytes;
}

void engine_account(const struct engine *engine, struct account *out)
{
    const struct counters *c = &engine->counters;
    *out = (struct account){
        .read = c->read,
        .acknowledged = {.lines = c->lines_acked, .bytes = c->file_bytes_acked},
        .lines_over = (int64_t)c->read.lines,
        .bytes_over = (int64_t)c->read.bytes};
    account_take(out, &out->acknowledged);
    for (const struct offer *o = engine->offers; o; o = o->next) {
        enum held_reason reason = account_held(o);
        struct counters_amount *to = reason ? &out->held[reason] : &out->waiting;
        struct counters_amount amount = {.lines = o->record.lines,
                                         .bytes = o->record.end - o->record.begin};
        counters_add(to, amount.lines, amount.bytes);
        account_take(out, &amount);
    }
    for (unsigned i = 0; i < COUNTERS_FATES; i++) {
        out->fate[i] = c->fate[i];
        account_take(out, &out->fate[i]);
    }
}
