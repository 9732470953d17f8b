/* SPDX-License-Identifier: Apache-2.0 */
/* Tries to read each stream where it stands, and looks for the next file that can be
 * read.
 */
#include "upload/resolve/resolve_find.h"

#include <stdio.h>

#include "upload/batch/batch.h"
#include "upload/batch/next_file.h"
#include "upload/batch/window.h"
#include "upload/core/offer.h"
#include "upload/core/raw_lines.h"
#include "upload/core/session_streams.h"
#include "upload/core/shutdown.h"
#include "upload/lifecycle/missing.h"
#include "upload/lifecycle/returned.h"
#include "upload/lifecycle/sealed_file.h"
#include "upload/lifecycle/shifted_stream.h"
#include "upload/source/file_number.h"
#include "upload/source/shifting.h"

static void resolve_go_on(struct resolving *r, enum held_reason reason, uint32_t file,
                          uint64_t offset)
{
    r->reason = reason;
    r->to.file = file;
    r->to.end = offset;
    r->to.mark = (struct record_mark){0};
}

/* The files before that one are given up. */
static void resolve_pass(struct resolving *r, enum held_reason reason, uint32_t file,
                         uint64_t offset)
{
    r->pass_first = r->to.file;
    r->pass_last = file - 1;
    resolve_go_on(r, reason, file, offset);
}

/* \return true if what was sent as the file of that number is in a later one, and the
 * stream goes on there: nothing is sent twice. */
static bool resolve_go_on_after(struct resolving *r, enum held_reason reason)
{
    const struct record_mark mark = r->to.mark;
    struct tail_where where = stream_where(r->stream);
    where.file = r->to.file;
    where.mark_at = r->to.end;
    where.mark = mark;
    uint32_t number = sealed_file_after(r->stream, &where);
    if (number) {
        resolve_pass(r, reason, number, r->to.end);
        r->to.mark = mark;
    }
    return number != 0;
}

/* Nothing follows, so whatever cannot be read in this file does not hold any more. */
static void resolve_end(struct resolving *r, enum held_reason reason)
{
    r->reason = reason;
    r->to.how = SETTLED_ENDED;
}

static struct scan_files_of resolve_files(const struct stream *st)
{
    return (struct scan_files_of){.sys = st->session->root->engine->config.sys,
                                  .root = st->session->root->fd,
                                  .path = st->session->path,
                                  .channel = stream_channel(st),
                                  .windows = st->kind == STREAM_VERBATIM};
}

/* The rule of the inspection: a writer has an active file in each of its channels. Where
 * an earlier backend got more, giving up that is enough. */
static bool resolve_lacks_active(const struct resolving *r)
{
    const struct stream *st = r->stream;
    return st->session->writer != SESSION_WRITER_LIVES &&
           !stream_is_unbegun(st, r->to.file, r->to.end) &&
           (r->to.end || (!stream_falls_short(st) && !shutdown_is_last(st)));
}

/* What would be sent as the next file may have been sent before. */
static bool resolve_may_double(struct resolving *r)
{
    const struct stream *st = r->stream;
    r->may_double = sealed_file_copy(st) == SEALED_COPY_MAYBE;
    if (r->may_double) {
        snprintf(r->out->why, sizeof r->out->why,
                 "%s: its files may be an earlier copy (gpufl upload --force "
                 "--session-id %.128s sends all of it again)",
                 stream_channel(st), st->session->id);
    }
    return r->may_double;
}

/* The file is not there, or cannot be read on. */
static void resolve_live_file(struct resolving *r, enum held_reason reason)
{
    struct stream *st = r->stream;
    struct scan_files_of files = resolve_files(st);
    bool gone = reason == HELD_MISSING;
    uint32_t next = file_number_next(&files, r->to.file);
    if (resolve_go_on_after(r, reason)) {
        r->reason = next && next < r->to.file ? HELD_LATE : reason;
        return;
    }
    if (!next && r->to.file <= st->highest && resolve_may_double(r)) {
        return;
    }
    if (next || r->to.file <= st->highest) {
        resolve_pass(r, reason, next ? next : st->highest + 1, 0);
    } else if (st->held) {
        resolve_end(r, (enum held_reason)st->hold_reason);
    } else if (!gone || resolve_lacks_active(r)) {
        resolve_end(r, !gone ? reason : r->to.end ? HELD_DELETED : HELD_ACTIVE_GONE);
    } /* else nothing says that there was one */
}

/* Reads at \p where, and on from the ends of sealed files that are not empty. */
static gpufl_status resolve_read_on(const struct stream *st, struct tail_where *where,
                                    struct tail_chunk *chunk)
{
    for (;;) {
        where->sealed_only = where->file <= st->highest;
        gpufl_status status = raw_lines_read(st->session->root->engine, where, chunk);
        bool ends = status == GPUFL_OK && !chunk->len && where->file <= st->highest;
        if (!ends || tail_is_emptied(where, chunk)) {
            return ends ? GPUFL_ERR_FORMAT : status;
        }
        where->file++;
        where->offset = where->mark_at = 0;
        where->mark = (struct record_mark){0};
    }
}

/* The file is there, but not what was sent of it. */
static void resolve_other_file(struct resolving *r, struct tail_where *where,
                               const struct tail_chunk *found)
{
    struct engine *engine = r->stream->session->root->engine;
    struct tail_chunk chunk;
    if (resolve_go_on_after(r, HELD_LATE)) {
        return;
    }
    if (found->other && resolve_may_double(r)) {
        return;
    }
    if (found->other) {
        /* What was sent of the one before is sealed, and may come back by its number. */
        bool active = where->file > r->stream->highest;
        resolve_go_on(r, HELD_OTHER, where->file + active, 0);
        return;
    }
    enum held_reason reason = found->shorter ? HELD_SHORTER : HELD_DAMAGED;
    if (found->packed) {
        (found->sealed ? resolve_live_file : resolve_end)(r, reason);
        return;
    }
    where->offset = where->mark_at = 0;
    where->mark = (struct record_mark){0};
    gpufl_status status = tail_read(engine->config.sys, where, engine->raw, 1, &chunk);
    if (status == GPUFL_OK && !tail_is_emptied(where, &chunk)) {
        resolve_go_on(r, HELD_SHORTER, where->file, chunk.size);
    } else {
        resolve_live_file(r, status == GPUFL_OK ? reason : HELD_UNREADABLE);
    }
}

/* What is wrong where nothing more is to be read. */
static enum held_reason resolve_at_end(const struct stream *st,
                                       const struct tail_where *where, bool packed)
{
    bool whole = !packed || stream_packed_is_whole(st, where->file, where->offset) ||
                 shutdown_is_last(st);
    return whole ? missing_end_said(st) : HELD_COMPRESSED;
}

static void resolve_live(struct resolving *r)
{
    struct stream *st = r->stream;
    struct tail_where where = stream_where(st);
    struct file_known known = {0};
    struct tail_chunk chunk;
    where.file = r->to.file;
    where.offset = where.mark_at = r->to.end;
    where.mark = r->to.mark;
    where.known = &known;
    where.any_number = where.any_number || r->reason != HELD_NOT;
    gpufl_status status = resolve_read_on(st, &where, &chunk);
    if (status == GPUFL_BUSY || status == GPUFL_ERR_NOMEM) {
        return; /* nothing is known of it yet: resolve_stream() */
    }
    bool over = status == GPUFL_OK && chunk.len == 0;
    r->has_all = status == GPUFL_OK && r->to.end;
    enum held_reason end = over ? resolve_at_end(st, &where, chunk.packed) : HELD_NOT;
    if ((status != GPUFL_OK || end != HELD_NOT) && where.file > r->to.file) {
        resolve_go_on(r, r->reason, where.file, 0); /* all before it was read */
    }
    if (status == GPUFL_ERR_FORMAT) {
        resolve_other_file(r, &where, &chunk);
    } else if (status != GPUFL_OK) {
        resolve_live_file(r,
                          status == GPUFL_ERR_NOT_FOUND ? HELD_MISSING : HELD_UNREADABLE);
    } else if (end != HELD_NOT) {
        resolve_end(r, end);
    } else if (next_file_shows_cut(st, &where, &chunk)) {
        resolve_go_on(r, HELD_DAMAGED, where.file, where.offset + chunk.len);
    }
    r->at_end = over || status == GPUFL_ERR_NOT_FOUND;
}

static void resolve_windows(struct resolving *r)
{
    const struct stream *st = r->stream;
    struct scan_files_of files = resolve_files(st);
    const struct session *session = st->session;
    bool over =
        session_writer_is_gone(session) && session->salvage == SESSION_SALVAGE_NONE;
    enum held_reason reason = window_problem(st, st->file);
    if (st->file <= st->highest && (over || st->held) && reason != HELD_NOT) {
        files.accepts = over ? window_is_whole : NULL; /* others may not be there yet */
        files.arg = st;
        uint32_t next = file_number_next(&files, st->file);
        resolve_pass(r, reason, next ? next : st->highest + 1, 0);
    } else if (st->file > st->highest && over && st->held) {
        resolve_end(r, (enum held_reason)st->hold_reason); /* nor is a name left of it */
    }
    r->at_end = st->file > st->highest;
}

static void resolve_shifting_gone(struct resolving *r)
{
    const struct stream *st = r->stream;
    r->at_end = st->rest != STREAM_MISSING && st->ended_file == st->file;
    if (st->rest == STREAM_MISSING) {
        resolve_end(r, HELD_DELETED); /* no file of the channel is there */
    } else if (!r->at_end) {
        snprintf(r->out->why, sizeof r->out->why,
                 "%s: which of its files were sent is not known any more (gpufl upload "
                 "--force --session-id %.128s sends them again)",
                 stream_channel(st), st->session->id);
    }
}

/* If the oldest is the first: what comes late shows by it that it was not there. */
static uint32_t resolve_shifting_number(const struct stream *st, uint32_t index)
{
    uint32_t number = st->there_highest > index ? st->there_highest - index + 1 : 1;
    return number > st->file ? number : st->file;
}

static uint32_t resolve_shifting_next(const struct stream *st,
                                      const struct shifting_place *next)
{
    return st->head ? st->file + next->skipped + 1
                    : resolve_shifting_number(st, next->index);
}

/* All of it was read. */
static void resolve_shifting_end(struct resolving *r, uint32_t index)
{
    const struct stream *st = r->stream;
    const struct missing_late late = missing_late_of(st, index);
    r->at_end = true;
    if (missing_any_late(st->session->root, &late)) {
        r->reason = HELD_LATE;
        r->index = index;
        r->to.file = resolve_shifting_number(st, index);
    }
}

static void resolve_shifting(struct resolving *r)
{
    struct stream *st = r->stream;
    struct engine *engine = st->session->root->engine;
    const struct sys *sys = engine->config.sys;
    struct tail_where where = stream_where(st);
    struct file_known known = {0};
    struct tail_chunk chunk = {0};
    struct shifting_place place;
    gpufl_status status;
    where.offset = where.mark_at = r->to.end;
    where.mark = r->to.mark;
    where.known = &known; /* as after a restart */
    if (!st->head) {
        status = shifting_first(sys, &where, st->highest, &place);
        status = status == GPUFL_ERR_NOT_FOUND ? GPUFL_OK : status;
    } else {
        status = raw_lines_read(engine, &where, &chunk);
        if (status == GPUFL_OK && chunk.len == 0 && chunk.index > 0) {
            status = shifting_next(sys, &where, &place);
            status = status == GPUFL_ERR_NOT_FOUND ? GPUFL_OK : status;
        }
    }
    if (status == GPUFL_BUSY || status == GPUFL_ERR_NOMEM) {
        return; /* likewise */
    }
    if (status == GPUFL_ERR_NOT_FOUND) {
        resolve_shifting_gone(r);
        return;
    }
    if (status == GPUFL_OK) {
        if (st->head && chunk.len == 0) {
            resolve_shifting_end(r, chunk.index);
        }
        return;
    }
    enum held_reason reason = status != GPUFL_ERR_FORMAT ? HELD_UNREADABLE
                              : chunk.shorter            ? HELD_SHORTER
                                                         : HELD_DAMAGED;
    status = shifting_skip(sys, &where, st->highest, &place);
    if (status == GPUFL_ERR_IO) {
        snprintf(r->out->why, sizeof r->out->why,
                 "%s: a file that is not the next one to send cannot be read (make it "
                 "readable, or move it away)",
                 stream_channel(st));
    } else if (status == GPUFL_OK) {
        resolve_go_on(r, reason, resolve_shifting_next(st, &place), 0);
        r->to.head = place.head;
        st->index = (uint8_t)place.index;
    } else {
        resolve_end(r, reason);
    }
}

/* Its range may be stored, so what of it can still be read is not sent again. */
static void resolve_offer(struct resolving *r)
{
    struct stream *st = r->stream;
    struct offer *offer = st->offer;
    const struct record_mark none = {0};
    size_t len;
    if (offer->state == OFFER_IN_FLIGHT) {
        r->out->busy++;
        return;
    }
    bool window = st->kind == STREAM_VERBATIM;
    gpufl_status status = window                      ? window_open(st, offer)
                          : offer->frame && !st->held ? GPUFL_OK
                                                      : batch_reread(offer, &len);
    if (status != GPUFL_OK && status != GPUFL_BUSY) {
        r->reason = HELD_BATCH;
        r->pass_first = r->pass_last = window ? offer->record.file : 0;
        r->to.sequence = offer->record.sequence;
        r->to.file = window ? offer->record.file + 1 : offer->record.file;
        r->to.end = window ? 0 : offer->record.end;
        r->to.head = offer->record.head;
        r->to.mark = window ? none : offer->record.mark;
    }
}

void resolve_find(struct resolving *r)
{
    struct stream *st = r->stream;
    struct engine *engine = st->session->root->engine;
    gz_cache_turn(&engine->gz, engine->config.sys->now_ms());
    if (st->offer) {
        resolve_offer(r);
        if (r->reason == HELD_NOT) {
            return; /* it is under way, or will be sent */
        }
    }
    if (st->kind == STREAM_VERBATIM) {
        if (!st->offer) {
            resolve_windows(r);
        }
    } else if (st->session->layout == SESSION_SHIFTING) {
        resolve_shifting(r);
    } else if (missing_behind_cut(st)) {
        resolve_end(r, HELD_CUT);
    } else {
        resolve_live(r);
    }
    raw_lines_shrink(engine);
    if (r->reason == HELD_NOT && st->gap && !r->may_double) {
        r->reason = HELD_GAP;
    }
    if (r->reason == HELD_NOT && r->at_end && session_writer_is_gone(st->session) &&
        stream_falls_short(st)) {
        resolve_end(r, HELD_FALLS_SHORT);
    }
    if (!st->session->quarantined && st->refused_lines) {
        r->reason = r->reason == HELD_NOT ? HELD_REFUSED : r->reason;
        r->to.lines =
            (uint32_t)(st->refused_lines < UINT32_MAX ? st->refused_lines : UINT32_MAX);
    }
}

void resolve_note_passed(const struct resolving *r, uint32_t before)
{
    const struct stream *st = r->stream;
    if (r->pass_first) {
        returned_give_up(st, r->pass_first, r->pass_last);
    }
    if (r->reason == HELD_LATE && shifted_stream_is(st)) {
        missing_late_given_up(st, r->index, st->file - before);
    }
}
