/* SPDX-License-Identifier: Apache-2.0 */
/* Offers: made when the request budget allows, journalled, sent, kept until settled. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "upload/engine/engine_internal.h"
#include "upload/source/ndjson.h"

#define ENOUGH_FRAME_BYTES (64u << 10)
#define COMPLETING_ENOUGH  64u
#define SMALL_ENOUGH       32u

/* ---- life of an offer ----------------------------------------------------------------
 */

static struct offer *link_offer(struct stream *st)
{
    struct engine *engine = st->session->root->engine;
    struct offer *offer = calloc(1, sizeof *offer);
    if (!offer) {
        return NULL;
    }
    offer->stream = st;
    offer->fd = -1;
    offer->made_ms = engine->config.sys->now_ms();
    st->waits_since_ms = st->waits_since_ms ? st->waits_since_ms : offer->made_ms;
    offer->next = engine->offers;
    offer->link = &engine->offers;
    if (engine->offers) {
        engine->offers->link = &offer->next;
    }
    engine->offers = offer;
    engine->offer_count++;
    st->offer = offer;
    return offer;
}

struct offer *offer_new(struct stream *st)
{
    struct offer *offer = link_offer(st);
    if (offer) {
        offer->record.sequence = st->sequence + 1;
        uuid_make(st->session->root->engine->config.sys, offer->record.id);
        uuid_format(offer->record.id, offer->id_text);
    }
    return offer;
}

struct offer *offer_restore(struct stream *st, const struct record_offer *record)
{
    struct offer *offer = st->offer ? st->offer : link_offer(st);
    if (offer) {
        offer->record = *record;
        offer->maybe_stored = true; /* who knows how far the run before came */
        offer->state = OFFER_WAITING;
        uuid_format(record->id, offer->id_text);
    }
    return offer;
}

void offer_drop_frame(struct engine *engine, struct offer *offer)
{
    if (offer->frame) {
        engine->frame_bytes -= offer->frame_len;
        frames_give(engine->frames, offer->frame);
        offer->frame = NULL;
    }
}

void offer_free(struct engine *engine, struct offer *offer)
{
    offer_drop_frame(engine, offer);
    if (offer->fd >= 0) {
        close(offer->fd);
    }
    offer->stream->offer = NULL;
    *offer->link = offer->next;
    if (offer->next) {
        offer->next->link = offer->link;
    }
    engine->offer_count--;
    free(offer);
}

void offer_to_back(struct engine *engine, struct offer *offer)
{
    struct offer **end = &engine->offers;
    *offer->link = offer->next;
    if (offer->next) {
        offer->next->link = offer->link;
    }
    while (*end) {
        end = &(*end)->next;
    }
    offer->next = NULL;
    offer->link = end;
    *end = offer;
}

static bool journal_stream(struct stream *st)
{
    struct root *root = st->session->root;
    if (st->id) {
        return true;
    }
    st->id = root->last_stream_id + 1;
    struct record_stream record = stream_record(st);
    if (!record_append_stream(root->journal, &record)) {
        st->id = 0;
        return false;
    }
    root->last_stream_id = st->id;
    return true;
}

bool offer_journal(struct offer *offer)
{
    struct stream *st = offer->stream;
    uint64_t ticket = 0;
    if (journal_stream(st)) {
        offer->record.stream = st->id;
        ticket = record_append_offer(st->session->root->journal, &offer->record);
    }
    offer->ticket = ticket ? ticket : TICKET_NEVER;
    offer->state = OFFER_SYNCING;
    return ticket != 0;
}

/* Replaces a refused batch by its first half: a new id, the same sequence. */
gpufl_status offer_shrink(struct offer *offer)
{
    struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    size_t raw_len;
    uint64_t old_end = offer->record.end;
    uint32_t half = offer->record.lines / 2;
    gpufl_status status = batch_reread(offer, &raw_len);
    if (status != GPUFL_OK) {
        return status;
    }
    struct ndjson_limits limits = {.max_bytes = raw_len, .max_lines = half};
    struct ndjson_cut cut = ndjson_cut(engine->raw, raw_len, limits);
    if (offer->maybe_stored && !offer->record.whole_end) {
        offer->record.whole_end = old_end;
        offer->record.whole_lines = offer->record.lines;
    }
    uuid_make(engine->config.sys, offer->record.id);
    uuid_format(offer->record.id, offer->id_text);
    offer->record.end = offer->record.begin + cut.bytes;
    offer->record.lines = cut.lines;
    offer->record.unterminated = 0;
    offer->record.encoding_changed = 0;
    offer->maybe_stored = false;
    st->at_end = false; /* the other half is still there */
    st->split_end = old_end;
    st->split_lines = half;
    offer_journal(offer); /* a journal that is broken takes it when it is mended */
    return batch_encode(offer, cut.bytes);
}

/* ---- making ---------------------------------------------------------------------------
 */

static enum made make_one(struct stream *st)
{
    enum made made;
    do {
        made = st->kind == STREAM_VERBATIM ? window_make(st) : batch_make(st);
    } while (made == MADE_STEP);
    if (!st->held) {
        st->hold_reason = NULL; /* it goes on: the next reason is news */
    }
    return made;
}

static bool may_offer(const struct stream *st, uint64_t now_ms)
{
    const struct session *session = st->session;
    return !st->offer && session->state == SESSION_OPEN && !stream_waits(st, now_ms);
}

bool offers_have_room(const struct engine *engine, uint64_t now_ms)
{
    unsigned waiting = 0;
    for (const struct offer *o = engine->offers; o; o = o->next) {
        /* One that fails alone, or whose session waits, stands in nobody's way. */
        waiting += o->failures_alone == 0 && !stream_waits(o->stream, now_ms);
    }
    /* More where they are small: one sync is for all. */
    bool small = engine->frame_bytes <= ENOUGH_FRAME_BYTES && waiting < SMALL_ENOUGH;
    return (waiting <= origin_slots(engine) || (small && !origin_probing(engine))) &&
           engine->frame_bytes <= FRAME_BYTES_IN_FLIGHT;
}

/* There is room, and neither a stream nor a session's completion waits for its turn. */
bool offers_lack_streams(const struct engine *engine, uint64_t now_ms)
{
    return engine->completing_count < COMPLETING_ENOUGH &&
           offers_have_room(engine, now_ms);
}

/* Disk and sockets have waited long enough: a frame was compressed, or four that took as
 * little time as small frames do. */
static bool made_enough(const struct engine *engine)
{
    return engine->made_frame_bytes > ENOUGH_FRAME_BYTES ||
           engine->made_bytes > 3 * engine->config.max_batch_bytes;
}

/* Its request is paid from the bucket already. */
static void take_turn(struct stream *st)
{
    struct engine *engine = st->session->root->engine;
    if (make_one(st) == MADE_OFFER) {
        st->offer->paid = true;
        if (st->offer->frame) {
            engine->made_bytes += st->offer->record.end - st->offer->record.begin;
            engine->made_frame_bytes += st->offer->frame_len;
        }
        return;
    }
    bucket_return(&engine->bucket);
    if (st->drained) {
        st->all_read = true;
    }
    if (st->drained && !session_tells(st->session)) {
        session_mark(st->session); /* maybe that was the last of it */
    }
}

/* Takes the streams that are due from one queue; the others keep their order. Where no
 * offer may be made, the queue is not walked: thousands may stand in it. */
static void serve(struct engine *engine, struct queue *queue, uint64_t now_ms)
{
    struct queue later = {0};
    for (struct stream *st; !made_enough(engine) && (st = queue->first);) {
        bool ready = st->due_ms <= now_ms && may_offer(st, now_ms);
        bool idle = st->offer || stream_held(st) || st->session->state != SESSION_OPEN;
        if (ready && (!offers_have_room(engine, now_ms) ||
                      bucket_take(&engine->bucket, now_ms) > 0)) {
            break;
        }
        queue_pop(queue);
        st->queued = !ready && !idle; /* its settling, or a change, puts it back */
        if (ready) {
            take_turn(st);
        } else if (st->queued) {
            queue_push(&later, st);
        }
    }
    queue_append(&later, queue);
    *queue = later;
    if (!queue->first) {
        queue->last = &queue->first;
    }
}

/* An offer that has not failed yet: the next probe. */
static bool has_fresh(const struct engine *engine, uint64_t now_ms)
{
    for (const struct offer *o = engine->offers; o; o = o->next) {
        if (!o->failed && !stream_waits(o->stream, now_ms)) {
            return true;
        }
    }
    return false;
}

void offers_make(struct engine *engine, uint64_t now_ms)
{
    engine->made_bytes = engine->made_frame_bytes = 0;
    engine->wants_more = false;
    if (engine->origin.state != ORIGIN_KNOWN || !origin_ready(engine, now_ms)) {
        return;
    }
    /* While the origin fails, each probe is another stream's, so that one that fails
     * alone does not stand for all of them. */
    if (origin_probing(engine) && has_fresh(engine, now_ms)) {
        return;
    }
    serve(engine, &engine->live, now_ms);
    serve(engine, &engine->backlog, now_ms);
    engine->wants_more = !made_enough(engine) && offers_lack_streams(engine, now_ms) &&
                         bucket_wait(&engine->bucket, now_ms) == 0;
}

/* ---- sending --------------------------------------------------------------------------
 */

/* After a restart, or when the origin has learnt something: the same range under the same
 * id, maybe as other bytes, which the record then says. */
static bool encode_again(struct offer *offer)
{
    struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    size_t raw_len;
    if (st->kind == STREAM_VERBATIM) {
        return window_open(st, offer) == GPUFL_OK;
    }
    enum codec codec = engine_codec(engine);
    uint32_t library = encode_library_version(codec);
    bool changed = offer->record.codec != codec || offer->record.library != library;
    if (batch_reread(offer, &raw_len) != GPUFL_OK) {
        return false;
    }
    if (changed) {
        offer->record.codec = (uint8_t)codec;
        offer->record.library = library;
        offer->record.encoding_changed = 1;
        offer_journal(offer);
    }
    return batch_encode(offer, raw_len) == GPUFL_OK;
}

static bool submit(struct offer *offer)
{
    struct stream *st = offer->stream;
    struct session *session = st->session;
    struct engine *engine = session->root->engine;
    bool verbatim = st->kind == STREAM_VERBATIM;
    enum engine_identity identity = engine->config.identity;
    struct transport_request request = {
        .kind = TRANSPORT_BATCH,
        .session = session->id,
        .encoding = codec_name((enum codec)offer->record.codec),
        .window_id = offer->id_text,
        .window_headers = verbatim || identity == IDENTITY_ON ||
                          (identity == IDENTITY_AUTO && engine->origin.live_windows),
        .channel = session->root->channel_name[st->channel],
        .sequence = offer->record.sequence,
        .crc32 = offer->crc32,
        .body = verbatim ? NULL : offer->frame,
        .fd = offer->fd,
        .body_len = verbatim ? (size_t)offer->record.end : offer->frame_len,
        .tag = offer,
    };
    if (engine->config.transport.submit(engine->config.transport.self, &request) !=
        GPUFL_OK) {
        return false;
    }
    offer->state = OFFER_IN_FLIGHT;
    engine->origin.in_flight++;
    engine->total.requests++;
    return true;
}

/* True when the loop may go on to the next offer. */
static bool send_one(struct engine *engine, struct offer *offer, uint64_t now_ms)
{
    struct stream *st = offer->stream;
    if (offer->state != OFFER_WAITING || now_ms < offer->retry_at_ms ||
        stream_waits(st, now_ms)) {
        return true;
    }
    bool verbatim = st->kind == STREAM_VERBATIM;
    if ((verbatim ? offer->fd < 0 : !offer->frame) && !encode_again(offer)) {
        stream_hold(st, "what was offered before cannot be read again");
        return true;
    }
    if (offer->state != OFFER_WAITING) {
        return true; /* its changed record must reach the disk first */
    }
    if (!offer->paid && bucket_take(&engine->bucket, now_ms) > 0) {
        return false;
    }
    if (!submit(offer)) {
        offer->paid = true;
        return false;
    }
    offer->paid = false;
    return true;
}

void offers_send(struct engine *engine, uint64_t now_ms)
{
    for (struct offer *o = engine->offers; o; o = o->next) {
        struct root *root = o->stream->session->root;
        if (o->state == OFFER_SYNCING && o->ticket <= journal_durable(root->journal)) {
            o->state = OFFER_WAITING;
        }
    }
    for (struct offer *o = engine->offers; o; o = o->next) {
        if (engine->origin.state != ORIGIN_KNOWN || !origin_ready(engine, now_ms) ||
            !send_one(engine, o, now_ms)) {
            return;
        }
    }
}
