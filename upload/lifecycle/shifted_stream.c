/* SPDX-License-Identifier: Apache-2.0 */
/* Identifies the current file of a stream in the shifting layout by its head. */
#include "upload/lifecycle/shifted_stream.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "schema/channels.h"
#include "upload/core/offer.h"
#include "upload/core/passed.h"
#include "upload/core/position.h"
#include "upload/lifecycle/missing.h"
#include "upload/lifecycle/sealed_file.h"
#include "upload/source/ndjson.h"

/* A rotation is over by then if its writer goes on, as it shows by writing. It is looked
 * at so often that no two rotations are taken for one. */
#define HOLE_STAYS_MS 2000u
#define HOLE_STILL_MS 60000u /* of a writer that shows nothing */
#define HOLE_LOOK_MS  200u

bool shifted_stream_is(const struct stream *st)
{
    return st->session->layout == SESSION_SHIFTING;
}

bool shifted_stream_numbered(const struct stream *st, uint32_t number,
                             struct shifting_place *out)
{
    const struct sys *sys = st->session->root->engine->config.sys;
    struct tail_where where = stream_where(st);
    struct shifting_place first;
    struct shifting_place again;
    if (shifting_first(sys, &where, st->highest, &first) != GPUFL_OK || !first.begins ||
        number == 0 || number > first.index + 1) {
        return false;
    }
    where.index = first.index + 1 - number;
    return shifting_by_crc(sys, &where, 0, out) == GPUFL_OK &&
           shifting_first(sys, &where, first.index, &again) == GPUFL_OK &&
           again.index == first.index;
}

/* The journal was lost, and the progress file has no more than a number and an offset, or
 * the backend has told an end without the bytes that would show where it is. */
static bool shifted_stream_is_unknown(const struct stream *st)
{
    return st->offset || (st->file > 1 && !st->gap);
}

/* A channel of a writer begins with its first record, also where no rotated file is left.
 * Of others nobody knows how they begin, and one file alone says nothing. */
static bool shifted_stream_lacks_first(const struct stream *st,
                                       const struct shifting_place *first)
{
    bool known = channel_named(stream_channel(st)) != CHANNEL_COUNT;
    return !first->begins && (first->index > 0 || known);
}

/* Before anything of it is sent. */
static void shifted_stream_note_first(struct stream *st,
                                      const struct shifting_place *first)
{
    bool gap = shifted_stream_lacks_first(st, first);
    if (st->file > 1 || st->offset || st->gap == gap) {
        return;
    }
    st->gap = false;
    if (gap) {
        missing_first(st);
    }
    struct record_stream record = stream_record(st);
    if (st->id) {
        (void)!record_append_stream(st->session->root->journal, &record);
    }
}

static void shifted_stream_begin(struct stream *st, const struct shifting_place *first)
{
    struct shifting_place place = *first;
    shifted_stream_note_first(st, first);
    if (shifted_stream_is_unknown(st) && !shifted_stream_numbered(st, st->file, &place)) {
        trouble_say(&st->session->root->engine->trouble,
                    "session %s, channel %s: which of its files was being read is not "
                    "known any more: what is there is sent from the start",
                    st->session->id, stream_channel(st));
        position_begin_at(st, 1, 0, 0);
    }
    position_begin_at(st, st->file, st->offset, place.head);
    st->index = (uint8_t)place.index;
    st->known = place.known;
}

/* \return true if \p end, the last bytes of a file, is a whole line of a shutdown. */
static bool shifted_stream_ends_in_shutdown(const char *end, size_t len)
{
    if (len < 2 || end[len - 1] != '\n') {
        return false;
    }
    const char *newline = memrchr(end, '\n', len - 1);
    const char *line = newline ? newline + 1 : end;
    return ndjson_is_shutdown(line, (size_t)(end + len - 1 - line));
}

/* Its writer has written its last line, or compressed its active file, as it does at its
 * end: it renames no more. */
static bool shifted_stream_has_ended(const struct stream *st)
{
    const struct sys *sys = st->session->root->engine->config.sys;
    const struct tail_where where = stream_where(st);
    char end[SHIFTING_HEAD_BYTES];
    const off_t most = sizeof end;
    struct stat is;
    bool gz;
    ssize_t n = 0;
    int fd = tail_where_open_either(sys, &where, 0, &gz);
    if (fd < 0) {
        return false;
    }
    if (!gz && fstat(fd, &is) == 0) {
        n = file_pread_full(sys, fd, end, sizeof end,
                            is.st_size > most ? is.st_size - most : 0);
    }
    close(fd);
    return gz || (n > 0 && shifted_stream_ends_in_shutdown(end, (size_t)n));
}

/* A rotation in which a number was seen to be free is over: its writer is gone, or has
 * written since that number was free for a while. What it wrote shows at an inspection,
 * which may be much later. A run on demand does not wait for one that had been still. */
static bool shifted_stream_rotation_is_over(const struct stream *st)
{
    const struct session *session = st->session;
    bool still = session->root->engine->config.once &&
                 st->seal_read_ms > session->last_growth_ms &&
                 session_silent(session, st->seal_read_ms);
    return st->seal_read_ms &&
           (still || session_writer_is_gone(session) || shifted_stream_has_ended(st) ||
            session->grew_after_ms >= st->seal_read_ms + HOLE_STAYS_MS);
}

/* Files that were sent and cleaned up are older than the current one: between it and the
 * next, each number has a file, except for a moment during a rotation.
 * \return false until that moment is over. */
static bool shifted_stream_hole_stays(struct stream *st, bool rotation_is_over)
{
    struct session *session = st->session;
    uint64_t now_ms = session->root->engine->config.sys->now_ms();
    st->seal_read_ms = st->seal_read_ms ? st->seal_read_ms : now_ms;
    uint64_t stays_at_ms = st->seal_read_ms + HOLE_STAYS_MS;
    if (now_ms >= (rotation_is_over ? stays_at_ms : st->seal_read_ms + HOLE_STILL_MS)) {
        return true;
    }
    if (now_ms >= stays_at_ms && session->seen_at_ms < stays_at_ms) {
        session_mark(session); /* what is written from then on counts */
    }
    st->rest = STREAM_PENDING;
    stream_enqueue(st, false, now_ms + HOLE_LOOK_MS);
    return false;
}

/* The files of these numbers were gone before they were read. */
static void shifted_stream_note_hole(struct stream *st, uint32_t files)
{
    struct engine *engine = st->session->root->engine;
    st->gap = true;
    st->jump = st->positions; /* the backend is told */
    struct record_stream record = stream_record(st);
    (void)!record_append_stream(st->session->root->journal, &record);
    passed_add(st->session->root, st->id, st->file - files, st->file - 1);
    trouble_say(
        &engine->trouble,
        "session %s, channel %s: between two rotated files that are there, %u are "
        "missing",
        st->session->id, stream_channel(st), files);
    log_warn(engine->config.log, "session.gap",
             "session=%s channel=%s reason=\"files between others are missing\"",
             st->session->id, stream_channel(st));
}

/* A hole counts before the file that was read: `sealed` is the one before the next. */
static void shifted_stream_go_to(struct stream *st, const struct shifting_place *next)
{
    struct stream_end before = {.head = st->head, .offset = st->offset, .mark = st->mark};
    st->file += next->skipped;
    sealed_file_sent(st);
    position_next_file(st, next->head);
    st->before = before;
    st->index = (uint8_t)next->index;
    st->known = next->known;
    if (next->skipped) {
        shifted_stream_note_hole(st, next->skipped);
    }
}

enum made shifted_stream_next(struct stream *st)
{
    struct tail_where where = stream_where(st);
    struct shifting_place next;
    bool over = shifted_stream_rotation_is_over(st); /* before it is looked at again */
    gpufl_status status =
        shifting_next(st->session->root->engine->config.sys, &where, &next);
    if (status == GPUFL_OK && next.skipped &&
        (!shifted_stream_hole_stays(st, over) || !offer_journal_stream(st))) {
        return MADE_NOTHING;
    }
    if (status == GPUFL_OK) {
        shifted_stream_go_to(st, &next);
        return MADE_STEP;
    }
    st->seal_read_ms = 0; /* nothing tells that the same number is free later */
    if (status == GPUFL_ERR_NOT_FOUND) {
        st->rest = STREAM_DRAINED;
    } else {
        stream_hold(st, HELD_UNREADABLE);
    }
    return MADE_NOTHING;
}

/* Nothing was sent of the file, and it was compressed before it could be read: which of
 * several alike it was, the one before it tells, or that it was the first. */
static bool shifted_stream_back(struct stream *st)
{
    struct stream_end before = st->before;
    if (st->offset || !st->known.inode) {
        return false;
    }
    st->before = (struct stream_end){0};
    position_begin_at(st, before.head ? st->file - 1 : st->file, before.offset,
                      before.head);
    st->mark = before.mark;
    return true;
}

/* What the backend has tells where the stream ends there, but not in which of the files
 * that are left: a person may say to go on nevertheless. */
static void shifted_stream_hold(struct stream *st)
{
    bool known = st->positions && st->end.at.file;
    stream_hold(st, known ? HELD_BACKEND_UNPROVED : HELD_ROTATED_GONE);
    if (known) {
        (void)!position_note_end(st, END_UNPROVED);
    }
}

enum made shifted_stream_lost(struct stream *st)
{
    struct root *root = st->session->root;
    struct tail_where where = stream_where(st);
    if (shifted_stream_back(st) || stream_asks_first(st, HELD_ROTATED_GONE)) {
        return MADE_STEP;
    }
    if (!shifting_overflows(root->engine->config.sys, &where)) {
        shifted_stream_hold(st);
        return MADE_NOTHING;
    }
    position_next_file(st, 0);
    st->gap = true;
    st->jump = st->positions; /* the backend is told */
    struct record_stream record = stream_record(st);
    if (st->id && !record_append_stream(root->journal, &record)) {
        return MADE_NOTHING;
    }
    trouble_say(&root->engine->trouble,
                "session %s, channel %s: its writer deleted files before they were sent",
                st->session->id, stream_channel(st));
    return MADE_STEP;
}

bool shifted_stream_find(struct stream *st)
{
    struct tail_where where = stream_where(st);
    struct shifting_place first;
    if (!shifted_stream_is(st) || st->head) {
        return true;
    }
    if (st->positions && shifted_stream_is_unknown(st)) {
        if (st->ended_file == st->file) {
            st->rest = STREAM_DRAINED; /* a person gave it up */
        } else if (shifted_stream_lost(st) == MADE_STEP) {
            stream_enqueue(st, false, st->session->root->engine->config.sys->now_ms());
        }
        return false;
    }
    switch (shifting_first(st->session->root->engine->config.sys, &where, st->highest,
                           &first)) {
    case GPUFL_OK:
        shifted_stream_begin(st, &first);
        return true;
    case GPUFL_ERR_NOT_FOUND:
        st->rest = STREAM_DRAINED; /* nothing whole is there yet */
        return false;
    default:
        stream_hold(st, HELD_UNREADABLE);
        return false;
    }
}

/* Files were appended to since it was last held, no more: nothing is read again. */
static bool shifted_stream_goes_on(const struct stream *st,
                                   const struct shifting_own *own,
                                   const struct shifting_wanted *wanted)
{
    const struct session *session = st->session;
    return own->walk.file && session->changed && own->stamp == session->changed &&
           session->root->engine->config.sys->now_ms() < st->seek_at_ms &&
           !own->wanted.on && own->wanted.offset == wanted->offset &&
           own->wanted.crc == wanted->crc && own->wanted.file_crc == wanted->file_crc &&
           own->wanted.in_order == wanted->in_order;
}

void shifted_stream_own_begin(const struct stream *st, const struct reply_end *told,
                              bool settled, struct shifting_own *own)
{
    struct shifting_wanted wanted = {.file = told->at.file,
                                     .offset = told->at.offset,
                                     .crc = told->at.crc,
                                     .file_crc = told->file_crc,
                                     .in_order = !told->losses};
    if (shifted_stream_goes_on(st, own, &wanted)) {
        return;
    }
    wanted.on = settled && st->end.state != END_BELIEVED && st->head &&
                st->file == st->end.at.file && st->offset == st->end.at.offset &&
                told->losses == st->end.losses;
    *own = (struct shifting_own){.wanted = wanted, .stamp = st->session->changed};
    if (wanted.on) {
        own->walk = (struct shifting_walk){
            .at = {.index = st->index, .head = st->head, .known = st->known},
            .file = st->file,
            .run = {.offset = st->offset,
                    .crc = st->end.at.crc,
                    .file_crc = st->end.file_crc,
                    .mark = st->mark}};
    }
}

enum shifting_owned shifted_stream_own(struct stream *st, struct shifting_own *own)
{
    struct engine *engine = st->session->root->engine;
    const struct tail_where where = stream_where(st);
    enum shifting_owned owned =
        shifting_own_step(engine->config.sys, &where, st->highest, engine->raw,
                          engine->config.max_batch_bytes, own);
    engine->made_bytes += own->read;
    session_note_compared(st->session, own->read);
    return owned;
}
