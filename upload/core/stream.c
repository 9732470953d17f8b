/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a stream, tells what it waits for, and queues it. */
#include "upload/core/stream.h"

#include <stdio.h>
#include <stdlib.h>

#include "upload/source/identity.h"

/* How often the backend is asked of a stream that is held because its file is not there.
 */
#define STREAM_ASKS_AGAIN_MS 60000u
/* All decoders are on their way, which takes several turns. */
#define DECODERS_WAIT_MS 100u

struct stream *stream_of(struct queue_node *node)
{
    return (struct stream *)node; /* its first member */
}

const char *stream_channel(const struct stream *st)
{
    return st->session->root->channel_name[st->channel];
}

/* A cache, like `known`. */
static struct second_known *stream_second(const struct stream *st)
{
    enum channel index = channel_named(stream_channel(st));
    return index != CHANNEL_COUNT
               ? (struct second_known *)(uintptr_t)&st->session->second[index]
               : NULL;
}

/* Where files before it are gone, no name tells which one is active. Once something was
 * sent, the one before it is there, unless a person gave up what is missing. */
static bool stream_takes_any_number(const struct stream *st)
{
    return st->lost || (st->gap && !st->lines && !st->refused_lines);
}

struct tail_where stream_where(const struct stream *st)
{
    const struct root *root = st->session->root;
    const uint64_t now_ms = root->engine->config.sys->now_ms();
    return (struct tail_where){
        .root = root->fd,
        .path = st->session->path,
        .directory = &st->session->directory,
        .channel = stream_channel(st),
        .layout = (enum session_layout)st->session->layout,
        .sealed_only = st->file <= st->highest,
        .file = st->file,
        .offset = st->offset,
        .mark = st->mark,
        .mark_at = st->offset,
        .known = (struct file_known *)(uintptr_t)&st->known, /* a cache */
        .second = stream_second(st),
        .any_number = stream_takes_any_number(st),
        .silent = session_writer_is_silent(st->session, now_ms),
        .head = st->head,
        .index = st->index,
        .before = st->session->layout == SESSION_SHIFTING ? &st->sealed : NULL,
        .cache = gz_cache_for(&root->engine->gz, session_lane(st->session), st),
    };
}

struct tail_where stream_where_window(const struct stream *st, uint32_t file)
{
    return (struct tail_where){.root = st->session->root->fd,
                               .path = st->session->path,
                               .directory = &st->session->directory,
                               .channel = stream_channel(st),
                               .layout = SESSION_WINDOWS,
                               .file = file};
}

gpufl_status stream_read_sidecar(const struct stream *st, uint32_t file,
                                 struct sidecar *out)
{
    const struct session *session = st->session;
    char name[LAYOUT_PATH_MAX];
    char *text;
    size_t len;
    layout_sidecar(name, stream_channel(st), file);
    gpufl_status status = session_read_file(session, name, &text, &len);
    if (status == GPUFL_OK) {
        status = sidecar_parse(text, len, session->id, stream_channel(st), file, out);
        free(text);
    }
    return status;
}

bool stream_falls_short(const struct stream *st)
{
    return st->file < st->reached_file ||
           (st->file == st->reached_file && st->offset < st->reached_offset);
}

bool stream_is_unbegun(const struct stream *st, uint32_t file, uint64_t offset)
{
    return st->unbegun && file == st->highest + 1 && offset == 0;
}

bool stream_gave_up(const struct stream *st, uint32_t file)
{
    return st->ended_file == file || (st->jump && st->end.at.file == file);
}

bool stream_is_unseen(const struct stream *st)
{
    return st->kind == STREAM_VERBATIM && !st->id && st->highest == 0;
}

bool stream_is_between_files(const struct stream *st)
{
    return st->seal_read_ms && st->all_read && st->file == st->highest;
}

bool stream_packed_is_whole(const struct stream *stream, uint32_t file, uint64_t offset)
{
    struct tail_where where = stream_where(stream);
    where.file = file;
    where.offset = offset;
    return session_writer_is_gone(stream->session) &&
           tail_where_reaches_told(stream->session->root->engine->config.sys, &where);
}

bool stream_begins_again(const struct stream *st)
{
    return st->reached_file && st->file == 1 && st->offset == 0;
}

bool stream_takes_positions(const struct stream *st)
{
    return st->kind == STREAM_BATCHED && st->session->layout != SESSION_WINDOWS;
}

bool stream_knows_end(const struct stream *st)
{
    const struct origin *origin = &st->session->root->engine->origin;
    return !origin->positions || !stream_takes_positions(st) ||
           (st->positions ? st->end.at.file && !st->unproved : st->end.epoch != 0);
}

bool stream_ends_at(const struct stream *st, const struct stream_place *place)
{
    static const struct stream_place nothing = {.file = 1};
    bool begins_later = st->lost && !st->end.at.file;
    return stream_place_is(place, begins_later ? &nothing : &st->end.at);
}

bool stream_is_lost_elsewhere(const struct stream *st)
{
    return st->positions && st->end.losses && !st->lost && !st->gap;
}

enum held_reason stream_lost_reason(const struct stream *st)
{
    bool final = st->positions && st->end.losses && st->lost &&
                 st->session->root->engine->config.force;
    return stream_is_lost_elsewhere(st) ? HELD_LOST_ELSEWHERE
           : final                      ? HELD_FINAL
                                        : HELD_NOT;
}

void stream_say_lost_elsewhere(const struct stream *st)
{
    if (stream_is_lost_elsewhere(st)) {
        session_say_hold(st->session, stream_channel(st), held_text(HELD_LOST_ELSEWHERE));
    }
}

bool stream_is_cut(const struct stream *st)
{
    return (st->end.state == END_CUT || st->end.state == END_COPY) && st->cut_at;
}

uint32_t stream_newest_sealed(const struct stream *st)
{
    return st->told_active && st->told_active <= st->highest ? st->told_active - 1
           : stream_may_be_earlier_copy(st)                  ? st->there_highest
                                                             : st->highest;
}

bool stream_may_be_earlier_copy(const struct stream *st)
{
    bool sent = st->offset || (st->lines && !st->lost);
    bool fewer =
        st->there_highest < st->sealed.file || (st->file > st->there_highest + 1 && sent);
    return st->session->layout == SESSION_LIVE && !st->told && st->id && fewer;
}

bool stream_is_earlier_copy(const struct stream *st)
{
    bool before = st->told_active < st->file ||
                  (st->told_active == st->file && st->told_bytes >= 0 &&
                   (uint64_t)st->told_bytes < st->offset);
    return st->session->layout == SESSION_LIVE && st->told_active && before;
}

struct record_stream stream_record(const struct stream *st)
{
    struct record_stream record = {
        .stream = st->id,
        .kind = st->kind,
        .file = st->file,
        .offset = st->offset,
        .head = st->head,
        .mark = st->mark,
        .layout = st->layout,
        .sequence = st->sequence,
        .lines = st->lines,
        .refused_lines = st->refused_lines,
        .at = st->end,
        .marks =
            (uint8_t)((st->keep ? MARK_KEEP : 0) | (st->gap ? MARK_GAP : 0) |
                      (st->lost ? MARK_LOST : 0) | (st->positions ? MARK_POSITIONS : 0) |
                      (st->jump ? MARK_JUMP : 0) | (st->delivered ? MARK_DELIVERED : 0) |
                      (st->lost_after ? MARK_LOST_AFTER : 0) |
                      (st->ended_file == st->file ? MARK_ENDED : 0))};
    snprintf(record.path, sizeof record.path, "%s", st->session->path);
    snprintf(record.channel, sizeof record.channel, "%s", stream_channel(st));
    return record;
}

void stream_enqueue(struct stream *st, bool live, uint64_t due_ms)
{
    struct engine *engine = st->session->root->engine;
    if (st->rest != STREAM_PENDING || !st->waits_since_ms) {
        st->waits_since_ms = engine->config.sys->now_ms();
    }
    st->rest = STREAM_PENDING;
    if (st->queued) {
        st->due_ms = due_ms < st->due_ms ? due_ms : st->due_ms;
        return;
    }
    st->queued = true;
    st->due_ms = due_ms;
    struct lanes *lanes = live                                    ? &engine->live
                          : st->bulk && engine->bucket.rate_per_s ? &engine->bulk
                                                                  : &engine->backlog;
    lanes_push(lanes, session_lane(st->session), &st->node);
}

void stream_decode_on(struct stream *st)
{
    const struct engine *engine = st->session->root->engine;
    uint64_t wait_ms = engine->gz.full ? DECODERS_WAIT_MS : 1;
    stream_enqueue(st, false, engine->config.sys->now_ms() + wait_ms);
}

void stream_note_growth(struct stream *st)
{
    if (st->took == STREAM_TOOK_ALL) {
        st->took = STREAM_TOOK_ALL_SO_FAR;
    }
}

bool stream_asks_first(struct stream *st, enum held_reason reason)
{
    uint64_t now_ms = st->session->root->engine->config.sys->now_ms();
    if (!st->positions || now_ms < st->seek_at_ms) {
        return false;
    }
    if (st->asked_for == reason) {
        st->asked_for = HELD_NOT;
        st->seek_at_ms = now_ms + STREAM_ASKS_AGAIN_MS;
        return false;
    }
    st->asked_for = (uint8_t)reason;
    st->unproved = true;
    st->voided =
        reason == HELD_OTHER || reason == HELD_SHORTER || reason == HELD_BACKEND_OTHER;
    return true;
}

enum held_reason stream_unreadable(struct stream *st, uint32_t file)
{
    struct tail_where where = stream_where(st);
    where.file = file;
    where.sealed_only = file <= st->highest;
    st->unreadable =
        tail_where_unreadable(st->session->root->engine->config.sys, &where, st->highest);
    return tail_unreadable_is_closed(&st->unreadable)                    ? HELD_CLOSED
           : tail_unreadable_is_in_the_way(&st->unreadable, st->highest) ? HELD_IN_THE_WAY
                                                                         : HELD_NOT;
}

static bool stream_hold_is_of_reading(enum held_reason reason)
{
    return reason == HELD_CLOSED || reason == HELD_IN_THE_WAY ||
           reason == HELD_UNREADABLE || reason == HELD_WINDOW_UNREADABLE ||
           reason == HELD_WINDOW_SIDECAR || reason == HELD_BATCH ||
           reason == HELD_REFUSED_BATCH;
}

void stream_hold_text(const struct stream *st, enum held_reason reason,
                      char out[HELD_TEXT_MAX])
{
    int len = snprintf(out, HELD_TEXT_MAX, "%s", held_text(reason));
    if (st && stream_hold_is_of_reading(reason)) {
        tail_unreadable_text(&st->unreadable, stream_channel(st), out + len,
                             HELD_TEXT_MAX - (size_t)len);
    }
}

void stream_hold(struct stream *st, enum held_reason reason)
{
    char text[HELD_TEXT_MAX];
    /* A person gave up what cannot be read, but this file came later, or the backend has
     * another end since. */
    bool came = reason == HELD_SHORTER || reason == HELD_LATE || reason == HELD_EXPIRED ||
                reason == HELD_QUARANTINE_FULL || st->unproved;
    if (st->ended_file == st->file && !st->offer && !came) {
        st->rest = STREAM_DRAINED;
        return;
    }
    if (stream_hold_is_of_reading(reason)) {
        enum held_reason why = stream_unreadable(st, st->file);
        reason = why != HELD_NOT ? why : reason; /* nothing is to be given up */
    }
    enum held_reason last = (enum held_reason)st->hold_reason;
    if (!held_was_said(st->holds_said, last, reason)) {
        stream_hold_text(st, reason, text);
        session_say_hold(st->session, stream_channel(st), text);
    }
    st->holds_said = held_say(st->holds_said, last, reason);
    st->hold_reason = (uint8_t)reason;
    st->held = true;
}

bool stream_hold_stands(const struct stream *st)
{
    return st->hold_reason && (st->held || st->rest == STREAM_PENDING || st->offer);
}

bool stream_held(const struct stream *st)
{
    return st->held || st->session->held || st->session->presence == SESSION_AWAY;
}

bool stream_waits(const struct stream *st, uint64_t now_ms)
{
    const struct session *session = st->session;
    return stream_held(st) || session->look || session->root->away ||
           now_ms < session->hold_until_ms || journal_broken(session->root->journal);
}

uint64_t stream_seen_bytes(const struct stream *st)
{
    return st->session->layout == SESSION_LIVE ? st->seen >> STREAM_SEEN_SHIFT : 0;
}

void stream_note_goal(struct stream *st, uint64_t active_bytes, bool known)
{
    if (!st->goal_file && known && session_is_anothers(st->session)) {
        st->goal_file = st->highest + 1;
        st->goal_offset = active_bytes;
    }
}

/* Where no number tells: it was once read to its end. */
bool stream_has_enough(const struct stream *st)
{
    bool reached = st->goal_file
                       ? st->file > st->goal_file ||
                             (st->file == st->goal_file && st->offset >= st->goal_offset)
                       : st->took != STREAM_TOOK_PART;
    return st->sent && reached && session_is_anothers(st->session);
}

bool stream_deletes(const struct stream *st)
{
    switch (st->session->root->engine->config.delete_acked) {
    case DELETE_NEVER:
        return false;
    case DELETE_WINDOWS:
        return st->kind == STREAM_VERBATIM && !st->keep;
    case DELETE_ALL:
        break;
    }
    return !st->keep &&
           (st->kind == STREAM_VERBATIM || st->session->layout == SESSION_LIVE);
}

void stream_count_acked(const struct stream *st, uint32_t lines, uint64_t now_ms)
{
    struct counters *counters = &st->session->root->engine->counters;
    struct counters_channel *channel = counters_channel(counters, stream_channel(st));
    counters->lines_acked += lines;
    counters->batches_acked += st->kind == STREAM_BATCHED;
    counters->windows_acked += st->kind == STREAM_VERBATIM;
    channel->lines += lines;
    channel->batches += st->kind == STREAM_BATCHED;
    channel->windows += st->kind == STREAM_VERBATIM;
    st->session->heard_ms = now_ms;
    counters->last_success_ms = now_ms;
}
