/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a batch or window of each stream whose turn it is, and posts it. */
#include "upload/engine/send.h"

#include "upload/batch/batch.h"
#include "upload/batch/part.h"
#include "upload/batch/window.h"
#include "upload/core/offer.h"
#include "upload/core/origin_proof.h"
#include "upload/core/session_streams.h"
#include "upload/engine/progress_follow.h"
#include "upload/engine/send_order.h"
#include "upload/http/encode.h"
#include "upload/lifecycle/end_seek.h"

/* What a step takes that sends nothing: somebody may have made very many empty files. */
#define STEP_BYTES        8192u
#define COMPLETING_ENOUGH 64u
#define COMPLETING_MAX    1024u

/* Those whose end was refused keep others from being opened only when there are very many
 * of them. */
static bool send_completes_enough(const struct engine *engine)
{
    unsigned fresh = 0;
    for (const struct session *s = engine->completing; s; s = s->next_completing) {
        fresh += s->complete_failures == 0;
    }
    return fresh >= COMPLETING_ENOUGH || engine->completing_count >= COMPLETING_MAX;
}

bool send_lacks_streams(const struct engine *engine, uint64_t now_ms)
{
    return !send_completes_enough(engine) && send_order_has_room(engine, now_ms);
}

/* Disk and sockets have waited long enough: a large frame was made, or four batches'
 * worth of small ones. */
static bool send_made_enough(const struct engine *engine)
{
    return engine->made_frame_bytes > ENOUGH_FRAME_BYTES ||
           engine->made_bytes > 3 * engine->config.max_batch_bytes;
}

static enum made send_step(struct stream *st)
{
    const struct engine *engine = st->session->root->engine;
    if (!st->positions &&
        progress_follow(st->session->root, engine->config.sys->now_ms())) {
        return MADE_NOTHING; /* another uploader sent it: it is inspected again */
    }
    if (st->kind == STREAM_VERBATIM) {
        st->enough = st->file <= st->highest && stream_has_enough(st);
        return st->enough ? MADE_NOTHING : window_make(st);
    }
    if (st->positions && !engine->origin.positions) {
        stream_hold(st, HELD_NO_POSITIONS);
        return MADE_NOTHING;
    }
    if (stream_knows_end(st) && stream_is_cut(st)) {
        st->rest = STREAM_DRAINED; /* the backend has more than there is */
        return MADE_NOTHING;
    }
    if (!end_seek_is_over(st)) {
        return end_seek(st);
    }
    end_seek_forget(st);
    return batch_make(st);
}

static enum made send_make_one(struct stream *st)
{
    struct engine *engine = st->session->root->engine;
    enum made made;
    gz_cache_turn(&engine->gz, engine->config.sys->now_ms());
    do {
        uint64_t before = gz_cache_spent(&engine->gz);
        made = send_step(st);
        engine->made_bytes += made == MADE_STEP ? STEP_BYTES : 0;
        engine->made_bytes += gz_cache_spent(&engine->gz) - before;
    } while (made == MADE_STEP && !engine->gz.busy && !send_made_enough(engine));
    session_note_compared(st->session, gz_cache_spent(&engine->gz));
    if (made == MADE_STEP) { /* what was read is in quarantine: others have their turn */
        stream_enqueue(st, false, engine->config.sys->now_ms() + 1);
    }
    bool undecided = made != MADE_OFFER && engine->gz.busy;
    bool asks = st->asked_for || st->unproved || st->hold_reason == HELD_FOREIGN;
    if (!st->held && !asks && !undecided) {
        st->hold_reason = HELD_NOT; /* it goes on: a later reason is logged again */
    }
    session_note_holds(st->session);
    return made;
}

/* Only once it is made, it is known whether it counts in the budget. */
static void send_pay(struct engine *engine, const struct offer *offer, bool token)
{
    bool full = offer_is_full(offer);
    offer->stream->bulk = full;
    engine->full_offers += full;
    if (full && token) {
        bucket_return(&engine->bucket);
    } else if (!full && !token) {
        bucket_owe(&engine->bucket);
    }
}

/* \param token for its request was taken. */
static void send_take_turn(struct stream *st, bool token)
{
    struct engine *engine = st->session->root->engine;
    if (send_make_one(st) == MADE_OFFER) {
        send_order_mark_one(engine, session_lane(st->session));
        send_pay(engine, st->offer, token);
        st->offer->paid = true;
        if (st->offer->frame) {
            engine->made_bytes += st->offer->record.end - st->offer->record.begin;
            engine->made_frame_bytes += st->offer->frame_len;
        }
        return;
    }
    if (token) {
        bucket_return(&engine->bucket);
    }
    if (st->rest == STREAM_PENDING) {
        return;
    }
    st->all_read = true;
    if (!session_tells(st->session)) {
        session_mark(st->session); /* that may have been the last of it */
    }
}

static bool send_may(const struct engine *engine, uint64_t now_ms)
{
    return origin_takes(&engine->origin) && origin_ready(&engine->origin, now_ms);
}

/* Whatever others have queued, or fails of theirs, each owner may have one offer. The
 * queues, which may be thousands long, are walked only where one may be made. */
static void send_serve(struct engine *engine, uint64_t now_ms)
{
    send_order_mark(engine, now_ms);
    while (!send_made_enough(engine) && engine->frame_bytes <= FRAME_BYTES_IN_FLIGHT) {
        bool token;
        bool any_owner = send_may(engine, now_ms) &&
                         !send_order_has_probe(engine, now_ms) &&
                         send_order_has_room(engine, now_ms);
        struct stream *st = send_order_take(engine, any_owner, &token, now_ms);
        if (!st) {
            break;
        }
        uint32_t about = session_log_about(st->session);
        send_take_turn(st, token);
        log_about(engine->config.log, about);
    }
    send_order_rewind(engine);
}

void send_make_offers(struct engine *engine, uint64_t now_ms)
{
    engine->made_bytes = engine->made_frame_bytes = 0;
    engine->wants_more = false;
    send_order_count_full(engine, now_ms);
    if (!send_may(engine, now_ms) && !origin_probing(&engine->origin)) {
        return;
    }
    send_serve(engine, now_ms);
    engine->wants_more =
        send_may(engine, now_ms) && !send_order_has_probe(engine, now_ms) &&
        !send_made_enough(engine) && send_lacks_streams(engine, now_ms) &&
        bucket_wait(&engine->bucket, now_ms) == 0;
}

/* After a restart, or if the origin declares something else now: the same range under the
 * same id. If it is encoded to other bytes, the record says so. */
static bool send_encode_again(struct offer *offer)
{
    struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    size_t raw_len;
    if (st->kind == STREAM_VERBATIM) {
        return window_open(st, offer) == GPUFL_OK;
    }
    enum codec codec = batch_codec(engine);
    uint32_t library = encode_library_version(codec);
    bool changed = offer->record.codec != codec || offer->record.library != library;
    if (offer->part.skip) {
        return batch_encode(offer, 0) == GPUFL_OK;
    }
    if (batch_reread(offer, &raw_len) != GPUFL_OK) {
        return false;
    }
    if (offer->part.begin.file) {
        offer->record.codec = (uint8_t)codec; /* it has no identity that depends on it */
        return part_is_same(offer, raw_len - offer->record.unterminated) &&
               batch_encode(offer, raw_len) == GPUFL_OK;
    }
    if (changed) {
        offer->record.codec = (uint8_t)codec;
        offer->record.library = library;
        offer->record.encoding_changed = 1;
        offer_journal(offer);
    }
    return batch_encode(offer, raw_len) == GPUFL_OK;
}

static void send_note_submitted(struct offer *offer)
{
    struct engine *engine = offer->stream->session->root->engine;
    offer->state = OFFER_IN_FLIGHT;
    turns_take(&engine->send_turns, session_lane(offer->stream->session));
    engine->origin.in_flight++;
    engine->counters.requests++;
    engine->full_in_flight += offer_is_full(offer);
}

static bool send_submit_part(struct offer *offer)
{
    struct engine *engine = offer->stream->session->root->engine;
    struct transport_request request = {
        .kind = TRANSPORT_PARTS,
        .encoding = codec_name((enum codec)offer->record.codec),
        .body = offer->frame,
        .fd = -1,
        .body_len = offer->frame_len,
        .tag = offer,
    };
    bool sent = engine->config.transport.submit(engine->config.transport.self,
                                                &request) == GPUFL_OK;
    if (sent) {
        send_note_submitted(offer);
    }
    return sent;
}

static bool send_submit(struct offer *offer)
{
    struct stream *st = offer->stream;
    struct session *session = st->session;
    struct engine *engine = session->root->engine;
    bool verbatim = st->kind == STREAM_VERBATIM;
    enum engine_identity identity = engine->config.identity;
    if (offer->part.begin.file) {
        return send_submit_part(offer);
    }
    struct transport_request request = {
        .kind = TRANSPORT_BATCH,
        .session = session->id,
        .encoding = codec_name((enum codec)offer->record.codec),
        .window_id = offer->id_text,
        .window_headers = verbatim || identity == IDENTITY_ON ||
                          (identity == IDENTITY_AUTO && engine->origin.live_windows),
        .channel = stream_channel(st),
        .sequence = offer->record.sequence,
        .crc32 = offer->crc32,
        .body = verbatim ? NULL : offer->frame,
        .fd = offer->fd,
        .body_len = verbatim ? (size_t)offer->record.end : offer->frame_len,
        .tag = offer,
    };
    if (!offer_note_sent(offer)) {
        return false;
    }
    if (engine->config.transport.submit(engine->config.transport.self, &request) !=
        GPUFL_OK) {
        if (!offer->maybe_stored) {
            offer_note_unsent(offer);
        }
        return false;
    }
    send_note_submitted(offer);
    return true;
}

/* \return true if the loop may go on to the next offer. */
static bool send_one(struct engine *engine, struct offer *offer, uint64_t now_ms)
{
    struct stream *st = offer->stream;
    if (!send_order_is_due(offer, now_ms) || offer->decoding) {
        return true;
    }
    bool verbatim = st->kind == STREAM_VERBATIM;
    if ((verbatim ? offer->fd < 0 : !offer->frame) && !send_encode_again(offer)) {
        if (engine->gz.busy) {
            offer->decoding = true;
            offer->retry_at_ms = now_ms + (engine->gz.full ? 100 : 1);
            return true;
        }
        stream_hold(st, offer->refused ? HELD_REFUSED_BATCH : HELD_BATCH);
        return true;
    }
    if (offer->state != OFFER_WAITING) {
        return true; /* its changed record must reach the disk first */
    }
    if (!offer->paid && !offer_is_full(offer) &&
        bucket_take(&engine->bucket, now_ms) > 0) {
        return false;
    }
    if (!send_submit(offer)) {
        offer->paid = true;
        return false;
    }
    offer->paid = false;
    return true;
}

/* Of the offers that are on their way to a place in a compressed file, one has a turn: of
 * the owner whose last one is the longest ago. \return as send_one. */
static bool send_decode_on(struct engine *engine, uint64_t now_ms)
{
    struct offer *next = NULL;
    uint64_t first = UINT64_MAX;
    for (struct offer *o = engine->offers; o; o = o->next) {
        uint64_t turn =
            turns_last(&engine->decode_turns, session_lane(o->stream->session));
        if (o->decoding && send_order_is_due(o, now_ms) && turn < first) {
            next = o;
            first = turn;
        }
    }
    gz_cache_turn(&engine->gz, now_ms);
    if (!next) {
        return true;
    }
    next->decoding = false;
    turns_take(&engine->decode_turns, session_lane(next->stream->session));
    return send_one(engine, next, now_ms);
}

void send_offers(struct engine *engine, uint64_t now_ms)
{
    send_order_count_full(engine, now_ms);
    for (struct offer *o = engine->offers; o; o = o->next) {
        struct root *root = o->stream->session->root;
        if (o->state == OFFER_SYNCING && o->ticket <= journal_durable(root->journal)) {
            o->state = OFFER_WAITING;
        }
    }
    bool goes_on = send_may(engine, now_ms) && send_decode_on(engine, now_ms);
    if (send_order_by_owner(engine, now_ms)) {
        struct offer *next = send_order_next(engine, now_ms);
        while (next && send_one(engine, next, now_ms)) {
            next = send_order_next(engine, now_ms);
        }
        return;
    }
    for (struct offer *o = engine->offers; goes_on && o; o = o->next) {
        goes_on = send_may(engine, now_ms) && send_one(engine, o, now_ms);
    }
}
