/* SPDX-License-Identifier: Apache-2.0 */
/* Applies verdicts: the only place where a position moves. */
#include <stdio.h>
#include <string.h>

#include "upload/engine/engine_internal.h"

/* Appends the record and moves the position. The record is durable before anything that
 * follows from it is sent or told: later records stand behind it in the same file. */
static bool advance(struct stream *st, const struct record_settled *to)
{
    struct record_settled record = *to;
    record.stream = st->id;
    uint64_t ticket = record_append_settled(st->session->root->journal, &record);
    if (!ticket) {
        return false;
    }
    if (record.file > st->journal_file) {
        st->journal_file = record.file;
        st->journal_file_ticket = ticket;
        cleanup_soon(st);
    }
    st->file = record.file;
    st->head = record.head;
    st->offset = record.end;
    st->sequence = record.sequence > st->sequence ? record.sequence : st->sequence;
    st->keep = st->keep || record.how >= SETTLED_REFUSED_FINAL;
    if (record.how == SETTLED_ACKED || record.how == SETTLED_UNPROVEN) {
        st->lines += record.lines;
    } else {
        st->refused_lines += record.lines;
    }
    return true;
}

static bool advance_offer(const struct offer *offer, uint32_t lines, enum settled_how how)
{
    struct stream *st = offer->stream;
    bool window = st->kind == STREAM_VERBATIM;
    return advance(st, &(struct record_settled){
                           .sequence = offer->record.sequence,
                           .file = window ? offer->record.file + 1 : offer->record.file,
                           .end = window ? 0 : offer->record.end,
                           .lines = lines,
                           .how = (uint8_t)how,
                           .head = offer->record.head,
                       });
}

/* The offer is over; its stream may have more. */
static void finish(struct offer *offer, uint64_t now_ms)
{
    struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    bool full =
        offer->record.lines >= engine->config.max_batch_lines ||
        offer->record.end - offer->record.begin >= engine->config.max_batch_bytes / 2;
    bool whole =
        st->session->writer_gone || st->file <= st->highest; /* nothing will join */
    bool backlog = full || whole || st->kind == STREAM_VERBATIM || st->split_lines;
    bool all = st->at_end && !st->more && session_tells(st->session);
    if (st->at_end) { /* what is left came after it */
        st->waits_since_ms = offer->made_ms;
    }
    offer_free(engine, offer);
    if (all) {
        st->drained = true; /* the next line is told */
        return;
    }
    stream_enqueue(st, !backlog, backlog ? now_ms : engine_next_flush(engine, now_ms));
}

/* The journal could not take the record: the offer stays as it is and is sent again once
 * the journal is whole; the registry, or its answer, keeps it from being stored twice. */
static void stay(struct offer *offer, uint64_t now_ms)
{
    offer->maybe_stored = true;
    offer->state = OFFER_WAITING;
    offer->retry_at_ms = now_ms + JOURNAL_RETRY_MS;
}

static void count_acked(const struct stream *st, uint32_t lines, uint64_t now_ms)
{
    struct counters *counters = &st->session->root->engine->counters;
    struct counters_channel *channel = counters_channel(counters, stream_channel(st));
    channel->lines += lines;
    channel->batches += st->kind == STREAM_BATCHED;
    channel->windows += st->kind == STREAM_VERBATIM;
    counters->last_success_ms = now_ms;
}

static void on_acked(struct offer *offer, const struct transport_reply *reply,
                     const struct reply_batch *said, uint64_t now_ms)
{
    struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    uint64_t raw = offer->record.end - offer->record.begin;
    uint32_t lines = offer->record.lines;
    uint32_t offer_file = offer->record.file;
    if (st->kind == STREAM_VERBATIM && said->accepted >= 0 &&
        said->accepted <= UINT32_MAX) {
        lines = (uint32_t)said->accepted;
    }
    if (said->rejected > 0) {
        engine->total.lines_rejected += (uint64_t)said->rejected;
        log_warn(engine->config.log, "upload.rejected",
                 "session=%s channel=%s lines=%lld status=%d", st->session->id,
                 stream_channel(st), (long long)said->rejected, reply->status);
        engine_problem(engine, "the backend rejected %lld lines of session %s",
                       (long long)said->rejected, st->session->id);
    }
    if (!advance_offer(offer, lines,
                       said->acknowledged ? SETTLED_ACKED : SETTLED_UNPROVEN)) {
        stay(offer, now_ms);
        return;
    }
    log_debug(engine->config.log, "upload.acked",
              "session=%s channel=%s sequence=%u lines=%u bytes=%llu", st->session->id,
              stream_channel(st), offer->record.sequence, lines, (unsigned long long)raw);
    if (st->counted_file != offer_file) {
        st->counted_file = offer_file;
        engine->total.files_acked++;
    }
    if (said->spool_id[0] && engine->config.spooled) {
        engine->config.spooled(engine->config.spooled_arg, said->spool_id);
    }
    engine->origin.refusals = 0;
    engine->total.lines_acked += lines;
    engine->total.batches_acked += st->kind == STREAM_BATCHED;
    engine->total.windows_acked += st->kind == STREAM_VERBATIM;
    count_acked(st, lines, now_ms);
    engine->total.file_bytes_acked += raw;
    engine->total.sent_bytes += st->kind == STREAM_BATCHED ? offer->frame_len : raw;
    finish(offer, now_ms);
}

bool ack_quarantine(struct stream *st, const struct record_quarantine *record)
{
    struct session *session = st->session;
    struct engine *engine = session->root->engine;
    bool window = st->kind == STREAM_VERBATIM;
    bool offered = st->offer && st->offer->record.file == record->file;
    struct record_settled settled = {.sequence = record->sequence,
                                     .file = window ? record->file + 1 : record->file,
                                     .end = window ? 0 : record->end,
                                     .lines = record->lines,
                                     .how = SETTLED_QUARANTINED,
                                     .head = offered ? st->offer->record.head : st->head};
    if (!root_add_quarantine(session->root, record) || !advance(st, &settled)) {
        return false;
    }
    session->quarantined++;
    counters_note_status(&engine->counters.quarantined, record->status);
    log_error(engine->config.log, "upload.quarantined",
              "session=%s channel=%s file=%u begin=%llu end=%llu status=%d reason=\"%s\"",
              session->id, stream_channel(st), record->file,
              (unsigned long long)record->begin, (unsigned long long)record->end,
              record->status, record->reason);
    engine_problem(engine, "session %s, channel %s: a range is quarantined: %s",
                   session->id, stream_channel(st), record->reason);
    return true;
}

static void on_quarantine(struct offer *offer, const struct transport_reply *reply,
                          uint64_t now_ms)
{
    struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    if (++engine->origin.refusals > REFUSALS_BEFORE_HOLD) {
        offer->state = OFFER_WAITING;
        origin_hold(engine, reply->status, "it refuses every line", now_ms);
        return;
    }
    struct record_quarantine record = {.stream = st->id,
                                       .sequence = offer->record.sequence,
                                       .file = offer->record.file,
                                       .begin = offer->record.begin,
                                       .end = offer->record.end,
                                       .lines = offer->record.lines,
                                       .status = reply->status};
    memcpy(record.id, offer->record.id, sizeof record.id);
    char said[180];
    reply_excerpt(reply->body, reply->body_len, said, sizeof said);
    snprintf(record.reason, sizeof record.reason, "HTTP %d %s", reply->status, said);
    if (ack_quarantine(st, &record)) {
        finish(offer, now_ms);
    } else {
        stay(offer, now_ms);
    }
}

/* Its sequence is taken: by the larger batch that it is the first part of, which was
 * stored although its answer was lost. \return false when that is not so. */
static bool whole_was_stored(struct offer *offer, uint64_t now_ms)
{
    const struct record_offer *record = &offer->record;
    struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    if (!record->whole_end) {
        return false;
    }
    if (!advance(st, &(struct record_settled){.sequence = record->sequence,
                                              .file = record->file,
                                              .end = record->whole_end,
                                              .lines = record->whole_lines,
                                              .how = SETTLED_UNPROVEN,
                                              .head = record->head})) {
        stay(offer, now_ms);
        return true;
    }
    engine->origin.refusals = 0;
    engine->total.lines_acked += record->whole_lines;
    engine->total.batches_acked++;
    count_acked(st, record->whole_lines, now_ms);
    log_info(engine->config.log, "upload.was_stored", "session=%s channel=%s lines=%u",
             st->session->id, stream_channel(st), record->whole_lines);
    finish(offer, now_ms);
    return true;
}

static void on_refused_final(struct offer *offer, uint64_t now_ms)
{
    struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    if (!advance_offer(offer, offer->record.lines, SETTLED_REFUSED_FINAL)) {
        stay(offer, now_ms);
        return;
    }
    engine->total.lines_refused_final += offer->record.lines;
    log_error(engine->config.log, "upload.refused_final",
              "session=%s channel=%s lines=%u note=\"the backend had closed the session; "
              "the file is kept\"",
              st->session->id, stream_channel(st), offer->record.lines);
    engine_problem(engine, "the backend had closed session %s before all of it was there",
                   st->session->id);
    finish(offer, now_ms);
}

static enum verdict judge(const struct offer *offer, const struct transport_reply *reply,
                          const struct reply_batch *said)
{
    bool batch = offer->stream->kind == STREAM_BATCHED;
    struct verdict_case c = {
        .status = reply->status,
        .web_page = reply->web_page,
        .identity_conflict = said->identity_conflict,
        .sequence_conflict = said->sequence_conflict,
        .maybe_stored = offer->maybe_stored,
        .encoding_changed = offer->record.encoding_changed,
        .can_split = batch && offer->record.lines > 1,
        .is_plain_codec = offer->record.codec != CODEC_ZSTD,
    };
    return verdict_of(&c);
}

static void on_split(struct offer *offer, uint64_t now_ms)
{
    struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    if (offer_shrink(offer) != GPUFL_OK) {
        stream_hold(st, "a refused batch cannot be read again");
        if (offer->state == OFFER_IN_FLIGHT) {
            stay(offer, now_ms);
        }
    } else {
        log_info(engine->config.log, "upload.split", "session=%s channel=%s lines=%u",
                 st->session->id, stream_channel(st), offer->record.lines);
    }
}

void ack_reply(struct offer *offer, const struct transport_reply *reply, uint64_t now_ms)
{
    struct session *session = offer->stream->session;
    struct engine *engine = session->root->engine;
    struct reply_batch said;
    reply_read_batch(reply->body, reply->body_len, &said);
    enum verdict verdict = judge(offer, reply, &said);
    engine->origin.answered = engine->origin.answered || reply->status != 0;
    offer->maybe_stored = offer->maybe_stored || reply->maybe_received ||
                          (verdict == VERDICT_RETRY && reply->status >= 500);
    if (verdict != VERDICT_RETRY && verdict != VERDICT_HOLD_ORIGIN) {
        origin_ok(engine);
    }
    if (verdict != VERDICT_HOLD_SESSION) {
        session->hold_until_ms = 0;
        engine->total.hold_status = 0;
    }
    switch (verdict) {
    case VERDICT_ACKED:
        on_acked(offer, reply, &said, now_ms);
        break;
    case VERDICT_RETRY:
        retry_retry(offer, reply, now_ms);
        break;
    case VERDICT_HOLD_ORIGIN:
        retry_hold(offer, reply, now_ms);
        break;
    case VERDICT_HOLD_SESSION:
        if (engine->config.skip_on_quota) {
            on_refused_final(offer, now_ms);
        } else {
            retry_quota(offer, now_ms);
        }
        break;
    case VERDICT_SPLIT:
        on_split(offer, now_ms);
        break;
    case VERDICT_QUARANTINE:
        if (!said.sequence_conflict || !whole_was_stored(offer, now_ms)) {
            on_quarantine(offer, reply, now_ms);
        }
        break;
    case VERDICT_REFUSED_FINAL:
        on_refused_final(offer, now_ms);
        break;
    case VERDICT_PLAIN_CODEC:
        retry_plain_codec(offer, now_ms);
        break;
    }
}
