/* SPDX-License-Identifier: Apache-2.0 */
/* Tells from the journal and the manifest which files a session should have. */
#include "upload/lifecycle/missing.h"

#include "upload/core/session_streams.h"
#include "upload/core/shutdown.h"
#include "upload/source/file_number.h"

/* A listing may miss a file that is renamed meanwhile. */
static bool missing_is_lost(const struct stream *st)
{
    char byte;
    struct tail_chunk chunk;
    struct tail_where where = stream_where(st);
    gpufl_status status =
        tail_read(st->session->root->engine->config.sys, &where, &byte, 1, &chunk);
    return status == GPUFL_ERR_NOT_FOUND || status == GPUFL_ERR_FORMAT;
}

/* Its writer, which is gone, wrote more into it, or was about to. Whatever another tool
 * left in its place does not hold that. */
static bool missing_is_told(const struct stream *st)
{
    return session_writer_is_gone(st->session) && st->told_active == st->file &&
           st->told_bytes > (int64_t)st->offset;
}

/* That nothing is added to a copy says nothing of its writer. One that was complete when
 * all of it had been sent is whole. */
static bool missing_of_copy(const struct stream *st)
{
    return st->session->is_copy && !st->delivered &&
           (st->told_fit == TOLD_LATER || !shutdown_is_last(st));
}

/* A loss that a person has given up, or that the backend knows, is not said twice. */
static enum held_reason missing_why(const struct stream *st, bool gone)
{
    bool due =
        gone && st->session->layout == SESSION_LIVE && !st->lost && !stream_is_cut(st);
    bool told = due && (st->told_fit == TOLD_LESS ||
                        (st->told_fit == TOLD_OTHER && !shutdown_is_last(st)));
    return told ? HELD_CUT : due && missing_of_copy(st) ? HELD_COPIED : HELD_NOT;
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
    bool due = st->offset || (session->writer != SESSION_WRITER_LIVES &&
                              !stream_falls_short(st) && !shutdown_is_last(st));
    return session->layout == SESSION_LIVE && st->file > st->highest && due &&
           (missing_is_told(st) || missing_is_lost(st)) &&
           !stream_is_unbegun(st, st->file, st->offset);
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
    bool drained = active && st->rest == STREAM_DRAINED && !st->offer && !st->held;
    enum held_reason end = drained ? missing_end(st) : HELD_NOT;
    if (end != HELD_NOT) {
        stream_hold(st, end);
    }
    if (!seen && registry_follows(session->root, stream_channel(st)) && st->id &&
        st->rest == STREAM_PENDING && !st->offer && !st->queued) {
        st->rest = STREAM_MISSING;
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

void missing_ended(struct session *session, const struct scan *scan)
{
    session->writer = SESSION_WRITER_ENDED;
    missing_channels(session, scan);
}
