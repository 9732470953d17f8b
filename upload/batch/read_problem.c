/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a channel begins later, is held, or waits for its directory. */
#include "upload/batch/read_problem.h"

#include "upload/batch/next_file.h"
#include "upload/core/position.h"
#include "upload/lifecycle/missing.h"
#include "upload/lifecycle/sealed_file.h"
#include "upload/lifecycle/shifted_stream.h"

/* It was sent once and deleted by this uploader since, and the backend has gone back
 * behind it. Where somebody else has deleted it, a person decides, as of any file that is
 * gone: it may have been moved away. */
static bool read_problem_was_sent_and_deleted(const struct stream *st)
{
    const struct stream_place top = {.file = st->end.top_file,
                                     .offset = st->end.top_offset};
    bool deleted = st->file < st->lowest ? st->lowest <= st->sealed.deleted + 1
                                         : st->file <= st->sealed.deleted;
    return st->id && st->positions && deleted && stream_place_before(&st->end.at, &top);
}

/* Files of it are gone: the first ones, lost, or delivered and deleted, or those deleted
 * behind one that was kept. What is there is sent; the session is not reported complete.
 */
static bool read_problem_begins_later(struct stream *st)
{
    const struct session *session = st->session;
    struct engine *engine = session->root->engine;
    bool sent = read_problem_was_sent_and_deleted(st);
    bool first = st->file < st->lowest && (!st->id || stream_begins_again(st));
    if (session->layout != SESSION_LIVE || (!first && !sent)) {
        return false;
    }
    uint32_t next = st->file < st->lowest ? st->lowest : st->file + 1;
    position_begin_at(st, next, st->positions ? 0 : st->offset, st->head);
    st->lost = st->lost && !sent; /* the backend is told, but nobody gave that up */
    st->gap = st->gap || !sent;
    st->jump = st->positions;
    struct record_stream record = stream_record(st);
    if (st->id && !record_append_stream(session->root->journal, &record)) {
        return false;
    }
    trouble_say(&engine->trouble,
                "session %s, channel %s starts at file %u: earlier files are missing",
                session->id, stream_channel(st), st->file);
    return true;
}

/* The active file does not begin the channel, and nothing was sent of it yet. So it is
 * not the first one, and has the number that its writer noted. If that was found before,
 * and it is still another one, it is held. */
static bool read_problem_begins_in_the_middle(struct stream *st)
{
    if (st->id || st->file > 1 || st->offset || st->gap) {
        return false;
    }
    missing_first(st);
    if (st->noted > 1) {
        position_begin_at(st, st->noted, 0, st->head);
        st->jump = st->positions;
    }
    return true;
}

/* A person gave up the rest of the file, and its writer has made another one. */
static bool read_problem_begins_after_the_end(struct stream *st)
{
    if (st->ended_file != st->file || st->offset == 0) {
        return false;
    }
    st->ended_file = 0;
    position_begin_at(st, st->file, 0, 0);
    return true;
}

/* What a search has not come to yet is not known. */
static bool read_problem_is_open(struct stream *st)
{
    bool busy = st->session->root->engine->gz.busy;
    if (busy) {
        stream_decode_on(st);
    }
    return busy;
}

static enum made read_problem_hold(struct stream *st, enum held_reason reason)
{
    if (stream_asks_first(st, reason)) {
        return MADE_STEP;
    }
    reason = sealed_file_or_copy(st, reason);
    if (!read_problem_is_open(st)) {
        stream_hold(st, reason);
    }
    return MADE_NOTHING;
}

static enum made read_problem_not_found(struct stream *st)
{
    struct session *session = st->session;
    if (read_problem_begins_later(st) || (st->gap && sealed_file_find(st))) {
        return MADE_STEP;
    }
    if (read_problem_is_open(st)) {
        return MADE_NOTHING;
    }
    if (session->layout == SESSION_SHIFTING) {
        return shifted_stream_lost(st);
    }
    if (session->layout == SESSION_LIVE && st->ended_file == st->file &&
        st->file <= st->highest) {
        return next_file_pass(st) ? MADE_STEP : MADE_NOTHING;
    }
    if (session->layout == SESSION_LIVE && st->file <= st->highest &&
        read_problem_hold(st, HELD_MISSING) == MADE_STEP) {
        return MADE_STEP;
    }
    /* Renamed, as the next inspection will find, or deleted. */
    st->rest = st->file <= st->highest              ? STREAM_PENDING
               : stream_seen_bytes(st) > st->offset ? STREAM_MISSING
                                                    : STREAM_DRAINED;
    return MADE_NOTHING;
}

static enum made read_problem_other(struct stream *st)
{
    if (read_problem_begins_in_the_middle(st) || read_problem_begins_after_the_end(st)) {
        return MADE_STEP;
    }
    return read_problem_hold(st, HELD_OTHER);
}

/* A person gave up the rest of a file that cannot be read on: it holds nothing any more.
 * A plain one of the live layout goes on at its end. */
static enum held_reason read_problem_short(const struct stream *st,
                                           const struct tail_chunk *chunk)
{
    bool plain = !chunk->packed && st->session->layout == SESSION_LIVE;
    bool given_up = st->ended_file == st->file && !plain;
    return chunk->shorter && !given_up ? HELD_SHORTER : HELD_DAMAGED;
}

/* Where its writer tells of the loss, the session is never complete. */
static bool read_problem_is_emptied(const struct stream *st,
                                    const struct tail_where *where,
                                    const struct tail_chunk *chunk)
{
    return !stream_gave_up(st, st->file) && tail_is_emptied(where, chunk) &&
           !missing_told_in(st, st->file);
}

/* Likewise. */
static bool read_problem_is_beheaded(const struct stream *st,
                                     const struct tail_where *where,
                                     const struct tail_chunk *chunk)
{
    const struct engine *engine = st->session->root->engine;
    return !st->gap && !st->lost && tail_is_beheaded(where, engine->raw, chunk) &&
           !missing_told_in(st, st->file);
}

bool read_problem_is_cut(const struct stream *st, const struct tail_chunk *chunk)
{
    const struct tail_where where = stream_where(st);
    return read_problem_is_emptied(st, &where, chunk) ||
           read_problem_is_beheaded(st, &where, chunk);
}

/* What is there is sent. */
static enum made read_problem_begin_is_lost(struct stream *st)
{
    missing_first(st);
    struct record_stream record = stream_record(st);
    return st->id && !record_append_stream(st->session->root->journal, &record)
               ? MADE_NOTHING
               : MADE_STEP;
}

enum made read_problem_judge(struct stream *st, gpufl_status status,
                             const struct tail_chunk *chunk)
{
    struct session *session = st->session;
    if (status == GPUFL_OK && chunk->len) {
        return read_problem_begin_is_lost(st);
    }
    status = status == GPUFL_OK ? GPUFL_ERR_FORMAT : status; /* it is empty */
    bool late =
        status == GPUFL_ERR_FORMAT && !chunk->elsewhere && sealed_file_is_late(st);
    if (chunk->elsewhere) {
        st->rest = STREAM_PENDING;
        session_mark_later(session, session->root->engine->config.sys->now_ms());
    } else if (status == GPUFL_ERR_NOT_FOUND) {
        return read_problem_not_found(st);
    } else if (late) {
        stream_hold(st, HELD_LATE);
    } else if (read_problem_is_open(st)) {
        return MADE_NOTHING;
    } else if (status == GPUFL_ERR_FORMAT && chunk->other) {
        return read_problem_other(st);
    } else if (status == GPUFL_ERR_FORMAT) {
        return read_problem_hold(st, read_problem_short(st, chunk));
    } else {
        stream_hold(st, HELD_UNREADABLE);
    }
    return MADE_NOTHING;
}
