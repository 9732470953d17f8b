/* SPDX-License-Identifier: Apache-2.0 */
/* Splits, quarantines or gives up what was refused. */
#include "upload/engine/refusal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "upload/batch/batch.h"
#include "upload/batch/part.h"
#include "upload/batch/window.h"
#include "upload/core/owner_standing.h"
#include "upload/core/position.h"
#include "upload/core/room.h"
#include "upload/http/reply.h"
#include "upload/source/ndjson.h"

/* Replaces a refused batch by its first half: a new id, the same sequence. */
static gpufl_status refusal_halve(struct offer *offer)
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
    if ((offer->maybe_stored || offer->restored) && !offer->record.whole_end) {
        offer->record.whole_end = old_end;
        offer->record.whole_lines = offer->record.lines;
    }
    uuid_make(engine->config.sys, offer->record.id);
    uuid_format(offer->record.id, offer->id_text);
    offer->record.end = offer->record.begin + cut.bytes;
    offer->record.lines = cut.lines;
    offer->record.mark = batch_mark(offer, cut.bytes);
    offer->record.encoding_changed = 0;
    offer->record.sent = OFFER_NOT_SENT;
    offer->maybe_stored = offer->refused = false;
    if (st->positions) {
        part_measure(offer, cut.bytes);
    }
    st->took = STREAM_TOOK_PART; /* the other half is still there */
    st->split_end = old_end;
    st->split_lines = half;
    offer_journal(offer); /* a broken journal takes it once it is rewritten */
    return batch_encode(offer, cut.bytes);
}

void refusal_split(struct offer *offer)
{
    struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    gz_cache_turn(&engine->gz, engine->config.sys->now_ms());
    gpufl_status status = refusal_halve(offer);
    if (status != GPUFL_OK) {
        if (status != GPUFL_BUSY) {
            stream_hold(st, HELD_REFUSED_BATCH);
            offer->refused = true;
        }
        offer_drop_frame(engine, offer); /* it is read before it is sent again */
        if (offer->state == OFFER_IN_FLIGHT) {
            offer->state = OFFER_WAITING;
        }
    } else {
        log_info(engine->config.log, "upload.split", "session=%s channel=%s lines=%u",
                 st->session->id, stream_channel(st), offer->record.lines);
    }
}

/* Others can read the id of a window, and send it first with lines of another session. */
bool refusal_rename(struct offer *offer)
{
    const struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    if (st->kind != STREAM_VERBATIM || !window_rename(offer)) {
        return false;
    }
    engine->counters.windows_renamed++;
    log_warn(
        engine->config.log, "upload.renamed",
        "session=%s channel=%s file=%u note=\"the backend has other content under the "
        "id of this window, perhaps of another session: it is sent under an id of its "
        "own\"",
        st->session->id, stream_channel(st), offer->record.file);
    offer_journal(offer); /* a broken journal takes it once it is rewritten */
    return true;
}

/* Of another owner, whose lines the backend may take. In what a service reads, there is
 * one at any time. */
static bool refusal_has_others(const struct session *own)
{
    const struct engine *engine = own->root->engine;
    if (engine->config.service) {
        return true;
    }
    for (unsigned i = 0; i < engine->roots; i++) {
        for (const struct session *s = engine->root[i]->sessions; s; s = s->next) {
            if (s->wanted && s->state != SESSION_DONE &&
                session_lane(s) != session_lane(own)) {
                return true;
            }
        }
    }
    return false;
}

static void refusal_hold_session(struct offer *offer, int status, uint64_t now_ms)
{
    struct session *session = offer->stream->session;
    struct engine *engine = session->root->engine;
    session->hold_until_ms = now_ms + ORIGIN_SLOW_RETRY_MS;
    offer_drop_frame(engine, offer);
    log_error(engine->config.log, "session.refused",
              "session=%s status=%d note=\"the backend rejects every line of it; retried "
              "every minute\"",
              session->id, status);
    trouble_say(&engine->trouble, "the backend rejects every line of session %s (%d)",
                session->id, status);
}

/* What one owner sends, and is refused, proves nothing of what the others have.
 * \return true if the session or the backend is held, because all of it is refused. */
static bool refusal_holds(struct offer *offer, int status, uint64_t now_ms)
{
    const struct session *session = offer->stream->session;
    struct origin *origin = &session->root->engine->origin;
    if (status == 409) {
        return false; /* its registry has the window, which a gateway could not know */
    }
    if (++origin->refusals <= ORIGIN_REFUSALS_MAX) {
        return false;
    }
    offer->state = OFFER_WAITING;
    if (refusal_has_others(session)) {
        refusal_hold_session(offer, status, now_ms);
    } else {
        (void)owner_failed(session, now_ms);
        origin_hold(origin, status, "the backend rejects every line", now_ms);
    }
    return true;
}

static void refusal_reason(const struct offer *offer, const struct transport_reply *reply,
                           char *out, size_t size)
{
    struct reply_batch batch;
    char said[180];
    reply_read_batch(reply->body, reply->body_len, &batch);
    if (offer->stream->kind == STREAM_VERBATIM && batch.identity_conflict) {
        snprintf(
            out, size,
            "HTTP %d: the backend has other content under the ids of this window, "
            "perhaps of another session (ask its operator; then gpufl quarantine retry, "
            "or drop)",
            reply->status);
        return;
    }
    reply_message(reply->body, reply->body_len, said, sizeof said);
    snprintf(out, size, "HTTP %d%s%s", reply->status, said[0] ? " " : "", said);
}

static struct record_quarantine refusal_range(const struct offer *offer,
                                              const struct transport_reply *reply)
{
    struct record_quarantine record = {.sequence = offer->record.sequence,
                                       .file = offer->record.file,
                                       .begin = offer->record.begin,
                                       .end = offer->record.end,
                                       .lines = offer->record.lines,
                                       .status = reply->status};
    memcpy(record.id, offer->record.id, sizeof record.id);
    refusal_reason(offer, reply, record.reason, sizeof record.reason);
    return record;
}

/* It is refused again then. */
static bool refusal_has_room(struct offer *offer, uint64_t now_ms)
{
    bool has_room = room_for_range(offer->stream);
    if (!has_room) {
        offer->state = OFFER_WAITING;
        offer->retry_at_ms = now_ms;
        offer_drop_frame(offer->stream->session->root->engine, offer);
    }
    return has_room;
}

void refusal_skip(struct offer *offer, const struct transport_reply *reply,
                  const char *why, uint64_t now_ms)
{
    if (refusal_holds(offer, reply->status, now_ms) || !refusal_has_room(offer, now_ms)) {
        return;
    }
    struct record_quarantine *skip = malloc(sizeof *skip);
    offer->state = OFFER_WAITING;
    offer->retry_at_ms = now_ms;
    if (skip) { /* otherwise it is refused again */
        *skip = refusal_range(offer, reply);
        if (why[0]) {
            snprintf(skip->reason, sizeof skip->reason, "rejected: %s", why);
        }
        free(offer->part.skip);
        offer->part.skip = skip;
        offer_drop_frame(offer->stream->session->root->engine, offer);
    }
}

void refusal_quarantine(struct offer *offer, const struct transport_reply *reply,
                        uint64_t now_ms)
{
    if (refusal_holds(offer, reply->status, now_ms) || !refusal_has_room(offer, now_ms)) {
        return;
    }
    struct record_quarantine record = refusal_range(offer, reply);
    if (position_quarantine(offer->stream, &record)) {
        offer_finish(offer, now_ms);
    } else {
        offer_keep(offer, now_ms);
    }
}

bool refusal_whole_was_stored(struct offer *offer, uint64_t now_ms)
{
    const struct record_offer *record = &offer->record;
    struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    if (!record->whole_end) {
        return false;
    }
    if (!position_advance(st, &(struct record_settled){.sequence = record->sequence,
                                                       .file = record->file,
                                                       .end = record->whole_end,
                                                       .lines = record->whole_lines,
                                                       .how = SETTLED_UNPROVEN,
                                                       .head = record->head})) {
        offer_keep(offer, now_ms);
        return true;
    }
    engine->origin.refusals = 0;
    offer->record.end = record->whole_end;
    offer->record.lines = record->whole_lines;
    offer_count_read(offer);
    stream_count_acked(st, record->whole_lines, now_ms);
    engine->counters.file_bytes_acked += record->end - record->begin;
    log_info(engine->config.log, "upload.was_stored", "session=%s channel=%s lines=%u",
             st->session->id, stream_channel(st), record->whole_lines);
    offer_finish(offer, now_ms);
    return true;
}

void refusal_final(struct offer *offer, uint64_t now_ms)
{
    struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    if (!position_settle(offer, offer->record.lines, SETTLED_REFUSED_FINAL)) {
        offer_keep(offer, now_ms);
        return;
    }
    engine->counters.lines_refused_final += offer->record.lines;
    offer_count_fate(offer, COUNTERS_CLOSED);
    log_error(engine->config.log, "upload.refused_final",
              "session=%s channel=%s lines=%u note=\"the backend had closed the session; "
              "the file is kept\"",
              st->session->id, stream_channel(st), offer->record.lines);
    trouble_say(&engine->trouble,
                "the backend had closed session %s before all its lines were sent",
                st->session->id);
    offer_finish(offer, now_ms);
}

void refusal_was_sent(struct offer *offer, uint64_t now_ms)
{
    const struct stream *st = offer->stream;
    if (!position_settle(offer, offer->record.lines, SETTLED_UNPROVEN)) {
        offer_keep(offer, now_ms);
        return;
    }
    offer_count_fate(offer, COUNTERS_ELSEWHERE);
    log_info(st->session->root->engine->config.log, "upload.was_stored",
             "session=%s channel=%s lines=%u note=\"the upload cursor says so, and the "
             "backend has closed the session\"",
             st->session->id, stream_channel(st), offer->record.lines);
    offer_finish(offer, now_ms);
}
