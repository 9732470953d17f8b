/* SPDX-License-Identifier: Apache-2.0 */
/* Tells from the journal and the manifest which files a session should have. */
#include "upload/lifecycle/missing.h"

#include "base/log.h"
#include "schema/records.h"
#include "upload/core/passed.h"
#include "upload/core/session_streams.h"
#include "upload/core/shutdown.h"
#include "upload/lifecycle/cleanup.h"
#include "upload/source/file_number.h"

/* The place of its active file up to which it was sent. */
static struct tail_where missing_where(const struct stream *st)
{
    struct tail_where where = stream_where(st);
    if (stream_is_between_files(st)) {
        where.file++;
        where.offset = where.mark_at = 0;
        where.mark = (struct record_mark){0};
        where.known = NULL;
        where.sealed_only = false;
    }
    return where;
}

/* A listing may miss a file that is renamed meanwhile. */
static bool missing_is_lost(const struct stream *st)
{
    char byte;
    struct tail_chunk chunk;
    struct tail_where where = missing_where(st);
    gpufl_status status =
        tail_read(st->session->root->engine->config.sys, &where, &byte, 1, &chunk);
    return status == GPUFL_ERR_NOT_FOUND || status == GPUFL_ERR_FORMAT;
}

/* Its writer, which is gone, wrote more into it, or was about to. Whatever another tool
 * left in its place does not hold that. */
static bool missing_is_told(const struct stream *st)
{
    const struct tail_where where = missing_where(st);
    return session_writer_is_gone(st->session) && st->told_active == where.file &&
           st->told_bytes > (int64_t)where.offset;
}

/* That nothing is added to a copy says nothing of its writer. One that was complete when
 * all of it had been sent is whole. */
static bool missing_of_copy(const struct stream *st)
{
    return st->session->is_copy && !st->delivered &&
           (st->told_fit == TOLD_LATER || !shutdown_is_last(st));
}

bool missing_behind_cut(const struct stream *st)
{
    bool again = st->end.state == END_CUT && stream_seen_bytes(st) < st->offset;
    return (again || stream_is_cut(st)) && st->session->layout == SESSION_LIVE &&
           !st->lost && !st->delivered && missing_is_told(st);
}

static bool missing_lacks(const struct stream *st)
{
    return stream_is_cut(st) ? missing_behind_cut(st)
                             : st->told_fit == TOLD_LESS ||
                                   (st->told_fit == TOLD_OTHER && !shutdown_is_last(st));
}

/* A loss that a person has given up, or that the backend knows, is not said twice. */
static enum held_reason missing_why(const struct stream *st, bool gone)
{
    bool due = gone && st->session->layout == SESSION_LIVE && !st->lost;
    bool copied = due && !stream_is_cut(st) && missing_of_copy(st);
    return due && missing_lacks(st) ? HELD_CUT : copied ? HELD_COPIED : HELD_NOT;
}

enum held_reason missing_end(const struct stream *st)
{
    return missing_why(st, session_writer_is_gone(st->session));
}

enum held_reason missing_end_said(const struct stream *st)
{
    const struct session *session = st->session;
    bool said = session->is_copy && session->writer != SESSION_WRITER_LIVES;
    return missing_why(st, said || session_writer_is_gone(session));
}

/* A writer has an active file in each of its channels, even an empty one. Where nothing
 * of it was read, one that lives may be about to make it. */
static bool missing_active(const struct stream *st)
{
    const struct session *session = st->session;
    const struct tail_where where = missing_where(st);
    bool due = where.offset || (session->writer != SESSION_WRITER_LIVES &&
                                !stream_falls_short(st) && !shutdown_is_last(st));
    return session->layout == SESSION_LIVE && where.file > st->highest && due &&
           (missing_is_told(st) || missing_is_lost(st)) &&
           !stream_is_unbegun(st, where.file, where.offset);
}

struct missing_late missing_late_of(const struct stream *st, uint32_t index)
{
    return (struct missing_late){
        .rotated = &st->rotated, .stream = st->id, .file = st->file, .index = index};
}

bool missing_any_late(const struct root *root, const struct missing_late *late)
{
    for (uint32_t i = late->index + 1; i <= SCAN_SHIFTING_MAX; i++) {
        uint32_t before = i - late->index;
        bool there = scan_numbers_has(late->rotated, i);
        if (there && (before >= late->file ||
                      passed_has(root, late->stream, late->file - before))) {
            return true;
        }
    }
    return false;
}

void missing_late_given_up(const struct stream *st, uint32_t index, uint32_t raised)
{
    struct root *root = st->session->root;
    passed_raise(root, st->id, raised);
    for (uint32_t i = index + 1; i <= SCAN_SHIFTING_MAX; i++) {
        uint32_t before = i - index;
        if (scan_numbers_has(&st->rotated, i) && before < st->file &&
            passed_has(root, st->id, st->file - before)) {
            passed_take(root, st->id, st->file - before);
        }
    }
}

/* While its writer renames files, a listing may show one twice. */
static bool missing_is_late(const struct stream *st)
{
    const struct session *session = st->session;
    const struct missing_late late = missing_late_of(st, st->index);
    return session->layout == SESSION_SHIFTING &&
           (session->was_done || session_writer_is_gone(session)) &&
           st->rest == STREAM_DRAINED && !st->offer && !st->held &&
           missing_any_late(session->root, &late);
}

void missing_first(struct stream *st)
{
    struct engine *engine = st->session->root->engine;
    st->gap = true;
    trouble_say(&engine->trouble,
                "session %s, channel %s does not start with its " RECORD_JOB_START
                " record: earlier lines are missing",
                st->session->id, stream_channel(st));
    log_warn(engine->config.log, "session.gap",
             "session=%s channel=%s reason=\"earlier lines are missing\"",
             st->session->id, stream_channel(st));
}

/* What is left of it may be gone. Whether there was more than was sent is not known. */
static void missing_channel(struct stream *st, const struct scan *scan)
{
    struct session *session = st->session;
    const struct scan_channel *seen = scan_find_channel(scan, stream_channel(st));
    st->unbegun = file_number_unbegun(scan, stream_channel(st)) == st->highest + 1;
    bool active = seen && (seen->has_active || seen->has_active_gz);
    if (!active && registry_follows(session->root, stream_channel(st)) &&
        missing_active(st)) {
        if (st->offset == 0 && st->rest == STREAM_PENDING && !st->offer && !st->queued) {
            st->rest = STREAM_MISSING; /* the other channels need not wait for it */
        }
        bool any = seen || st->id || st->file > 1;
        stream_hold(st, any ? HELD_ACTIVE_GONE : HELD_CHANNEL_GONE);
        return;
    }
    if (missing_is_late(st)) {
        stream_hold(st, HELD_LATE);
    }
    bool drained = active && st->rest == STREAM_DRAINED && !st->offer && !st->held;
    enum held_reason end = drained ? missing_end(st) : HELD_NOT;
    if (end != HELD_NOT) {
        stream_hold(st, end);
    }
    if (!seen && registry_follows(session->root, stream_channel(st)) && st->id &&
        st->rest == STREAM_PENDING && !st->offer && !st->queued) {
        st->rest = st->ended_file == st->file ? STREAM_DRAINED : STREAM_MISSING;
    }
    /* One that lives makes its next file at once. */
    if (st->rest == STREAM_MISSING && session->writer != SESSION_WRITER_LIVES) {
        stream_hold(st, HELD_DELETED);
    }
}

/* A writer makes the files of its channels before the manifest that lists them. One that
 * lives gives a file that was removed its name back. */
static void missing_listed(struct session *session, const struct scan *scan)
{
    bool due = session->layout == SESSION_LIVE && session->writer != SESSION_WRITER_LIVES;
    for (unsigned i = 0; due && i < scan->manifest.channels; i++) {
        const char *channel = scan->manifest.channel[i];
        struct stream *st =
            !scan_find_channel(scan, channel) && registry_follows(session->root, channel)
                ? session_stream(session, channel)
                : NULL;
        if (st && st->kind == STREAM_UNSET) {
            st->kind = STREAM_BATCHED;
            st->layout = 1 + SESSION_LIVE;
            st->rest = STREAM_DRAINED; /* the other channels need not wait for it */
        }
    }
}

void missing_channels(struct session *session, const struct scan *scan)
{
    missing_listed(session, scan);
    for (unsigned i = 0; i < session->streams; i++) {
        missing_channel(session->stream[i], scan);
    }
}

/* Of some channels of the layout of 1.3, no name is left at all. What the existing client
 * writes to all channels goes to sass, too, but by its own word it does not. */
static void missing_windows(struct session *session)
{
    bool due = session->layout == SESSION_WINDOWS && shutdown_ends(session);
    for (int i = 0; due && i < CHANNEL_COUNT; i++) {
        const char *channel = channel_name((enum channel)i);
        bool counts = i != CHANNEL_SASS && registry_follows(session->root, channel);
        struct stream *st = counts ? session_stream(session, channel) : NULL;
        if (st && st->kind == STREAM_UNSET) {
            st->kind = STREAM_VERBATIM;
            st->layout = 1 + SESSION_WINDOWS;
            st->rest = STREAM_DRAINED; /* the other channels need not wait for it */
        }
    }
}

void missing_at_end(struct session *session)
{
    if (session_falls_short(session)) {
        session_hold(session, HELD_FALLS_SHORT);
    }
    shutdown_look(session);
    missing_windows(session);
    for (unsigned i = 0; i < session->streams; i++) {
        struct stream *st = session->stream[i];
        if (shutdown_lacks_window(st)) {
            stream_hold(st,
                        stream_is_unseen(st) ? HELD_CHANNEL_GONE : HELD_WINDOW_MISSING);
        }
    }
    cleanup_session(session); /* what was kept for this look */
}

void missing_ended(struct session *session, const struct scan *scan)
{
    session->writer = SESSION_WRITER_ENDED;
    missing_channels(session, scan);
}

bool missing_told_in(const struct stream *st, uint32_t file)
{
    struct tail_where where = stream_where(st);
    where.file = file;
    return tail_where_tells_loss(st->session->root->engine->config.sys, &where);
}
