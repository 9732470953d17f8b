/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an offer: made or restored, put into the journal, kept or finished. */
#include "upload/core/offer.h"

#include <stdlib.h>
#include <unistd.h>

#include "upload/core/frames.h"
#include "upload/core/stream_numbers.h"

static void offer_put(struct offer *offer, struct offer **link)
{
    offer->link = link;
    offer->next = *link;
    if (offer->next) {
        offer->next->link = &offer->next;
    }
    *link = offer;
}

static struct offer **offer_end(struct engine *engine)
{
    struct offer **end = &engine->offers;
    while (*end) {
        end = &(*end)->next;
    }
    return end;
}

static void offer_unlink(struct offer *offer)
{
    *offer->link = offer->next;
    if (offer->next) {
        offer->next->link = offer->link;
    }
}

/* They are sent in the order in which the streams had their turns; only while the origin
 * fails, the next probe is the new one. */
static struct offer *offer_link(struct stream *st)
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
    offer_put(offer,
              origin_probing(&engine->origin) ? &engine->offers : offer_end(engine));
    st->offer = offer;
    return offer;
}

struct offer *offer_new(struct stream *st)
{
    struct offer *offer = offer_link(st);
    if (offer) {
        offer->record.sequence = st->positions ? 0 : st->sequence + 1;
        offer->record.sent = OFFER_NOT_SENT;
        uuid_make(st->session->root->engine->config.sys, offer->record.id);
        uuid_format(offer->record.id, offer->id_text);
    }
    return offer;
}

struct offer *offer_restore(struct stream *st, const struct record_offer *record)
{
    struct offer *offer = st->offer ? st->offer : offer_link(st);
    if (offer) {
        offer->record = *record;
        offer->maybe_stored = record->sent != OFFER_NOT_SENT;
        offer->restored = true;
        offer->state = OFFER_WAITING;
        uuid_format(record->id, offer->id_text);
        offer_count_read(offer);
    }
    return offer;
}

bool offer_journal_stream(struct stream *st)
{
    struct root *root = st->session->root;
    if (st->id) {
        return true;
    }
    stream_set_number(st, root->last_stream_id + 1);
    struct record_stream record = stream_record(st);
    if (!record_append_stream(root->journal, &record)) {
        stream_set_number(st, 0);
        return false;
    }
    root->last_stream_id = st->id;
    session_note_directory(st->session);
    if (st->sealed.file) {
        st->sealed.stream = st->id;
        return record_append_sealed(root->journal, &st->sealed) != 0;
    }
    return true;
}

bool offer_journal(struct offer *offer)
{
    struct stream *st = offer->stream;
    uint64_t ticket = 0;
    offer_count_read(offer);
    if (offer->part.begin.file) {
        offer->state = OFFER_WAITING;
        return offer_journal_stream(st);
    }
    if (offer_journal_stream(st)) {
        offer->record.stream = st->id;
        ticket = record_append_offer(st->session->root->journal, &offer->record);
    }
    offer->ticket = ticket ? ticket : TICKET_NEVER;
    offer->state = OFFER_SYNCING;
    return ticket != 0;
}

static bool offer_note(struct offer *offer, enum offer_sent sent)
{
    if (offer->part.begin.file) {
        return true; /* the backend tells whether it has it */
    }
    struct record_offer *record = &offer->record;
    struct record_attempt attempt = {
        .stream = record->stream, .sequence = record->sequence, .sent = (uint8_t)sent};
    if (record->sent != sent &&
        !record_append_attempt(offer->stream->session->root->journal, &attempt)) {
        return false;
    }
    record->sent = (uint8_t)sent;
    return true;
}

bool offer_note_sent(struct offer *offer)
{
    return offer_note(offer, OFFER_MAYBE_SENT);
}

void offer_note_unsent(struct offer *offer)
{
    (void)!offer_note(offer, OFFER_NOT_SENT); /* in doubt it was sent */
}

bool offer_is_held(const struct offer *offer)
{
    const struct session *session = offer->stream->session;
    bool body = offer->frame || offer->fd >= 0;
    return session->root->away || offer->stream->held || session->held ||
           (!body && !session_is_listed(session));
}

bool offer_waits(const struct offer *offer, uint64_t now_ms)
{
    const struct session *session = offer->stream->session;
    return offer_is_held(offer) || now_ms < session->hold_until_ms ||
           journal_broken(session->root->journal);
}

void offer_drop_frame(struct engine *engine, struct offer *offer)
{
    if (offer->frame) {
        engine->frame_bytes -= offer->frame_len;
        frames_give(engine->frames, offer->frame);
        offer->frame = NULL;
    }
}

void offer_to_back(struct engine *engine, struct offer *offer)
{
    offer_unlink(offer);
    offer_put(offer, offer_end(engine));
}

void offer_keep(struct offer *offer, uint64_t now_ms)
{
    offer->state = OFFER_WAITING;
    offer->retry_at_ms = now_ms + JOURNAL_RETRY_MS;
}

static struct counters *offer_counters(const struct offer *offer)
{
    return &offer->stream->session->root->engine->counters;
}

void offer_count_read(struct offer *offer)
{
    struct counters_amount now = {.lines = offer->record.lines,
                                  .bytes = offer->record.end - offer->record.begin};
    counters_add(&offer_counters(offer)->read, now.lines - offer->counted.lines,
                 now.bytes - offer->counted.bytes);
    offer->counted = now;
}

void offer_count_fate(const struct offer *offer, enum counters_fate fate)
{
    counters_add(&offer_counters(offer)->fate[fate], offer->record.lines,
                 offer->record.end - offer->record.begin);
}

void offer_count_acked(const struct offer *offer, uint32_t lines, uint64_t now_ms)
{
    struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    uint64_t raw = offer->record.end - offer->record.begin;
    if (st->counted_file != offer->record.file) {
        st->counted_file = offer->record.file;
        engine->counters.files_acked++;
    }
    if (st->kind == STREAM_VERBATIM) {
        counters_add(&engine->counters.read, lines, 0); /* which the backend tells */
    }
    engine->origin.refusals = 0;
    stream_count_acked(st, lines, now_ms);
    engine->counters.file_bytes_acked += raw;
    engine->counters.sent_bytes += st->kind == STREAM_BATCHED ? offer->frame_len : raw;
}

bool offer_is_full(const struct offer *offer)
{
    const struct engine_config *config = &offer->stream->session->root->engine->config;
    uint64_t bytes = offer->record.end - offer->record.begin;
    return !offer->part.skip && (offer->record.lines >= config->max_batch_lines ||
                                 bytes >= config->max_batch_bytes / 2);
}

void offer_finish(struct offer *offer, uint64_t now_ms)
{
    struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    bool whole = session_writer_is_gone(st->session) ||
                 st->file <= st->highest; /* nothing will be appended */
    bool backlog =
        offer_is_full(offer) || whole || st->kind == STREAM_VERBATIM || st->split_lines;
    bool all = st->took == STREAM_TOOK_ALL && session_tells(st->session);
    if (st->took !=
        STREAM_TOOK_PART) { /* what is left was written after the offer was made */
        st->waits_since_ms = offer->made_ms;
    }
    offer_free(engine, offer);
    if (all) {
        st->rest = STREAM_DRAINED; /* the watcher will report the next line */
        return;
    }
    stream_enqueue(st, !backlog,
                   backlog ? now_ms : engine_config_next_flush(&engine->config, now_ms));
}

void offer_free(struct engine *engine, struct offer *offer)
{
    offer_drop_frame(engine, offer);
    if (offer->fd >= 0) {
        close(offer->fd);
    }
    free(offer->part.skip);
    offer->stream->offer = NULL;
    offer_unlink(offer);
    free(offer);
}

void offer_return(struct engine *engine, struct offer *offer)
{
    counters_add(&engine->counters.read, 0 - offer->counted.lines,
                 0 - offer->counted.bytes);
    offer_free(engine, offer);
}
