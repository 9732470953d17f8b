/* SPDX-License-Identifier: Apache-2.0 */
/* One session: what is known of it, why it waits, when it is to be looked at. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "upload/engine/engine_internal.h"
#include "upload/source/ndjson.h"

#define TAIL_LOOK_BYTES 4096u
#define LATER_MIN_MS    20u

void session_mark(struct session *session)
{
    struct engine *engine = session->root->engine;
    if (!session->dirty) {
        session->dirty = true;
        session->next_dirty = NULL;
        *(engine->dirty ? engine->dirty_last : &engine->dirty) = session;
        engine->dirty_last = &session->next_dirty;
    }
}

/* One look finds it all when the flush interval is over. All wait equally long, so the
 * list stands in order. */
void session_mark_later(struct session *session, uint64_t now_ms)
{
    struct engine *engine = session->root->engine;
    uint64_t wait_ms = engine->config.flush_interval_ms;
    if (!session->later) {
        session->later = true;
        session->later_at_ms = now_ms + (wait_ms < LATER_MIN_MS ? LATER_MIN_MS : wait_ms);
        session->next_later = NULL;
        *(engine->later ? engine->later_last : &engine->later) = session;
        engine->later_last = &session->next_later;
    }
}

/* Said once, however often it is looked at. */
void session_say_hold(struct session *session, const char *channel, const char *reason,
                      const char **said)
{
    struct engine *engine = session->root->engine;
    if (*said != reason) {
        log_error(engine->config.log, "session.held",
                  "session=%s channel=%s reason=\"%s\"", session->id, channel, reason);
        engine_problem(engine, "session %s, channel %s waits: %s", session->id, channel,
                       reason);
        engine->trouble_stamp++;
    }
    *said = reason;
}

/* All of the session waits for a change in its directory. */
void session_hold(struct session *session, const char *reason)
{
    session_say_hold(session, "*", reason, &session->hold_reason);
    session->held = true;
}

/* This channel waits; the others go on. */
void stream_hold(struct stream *st, const char *reason)
{
    session_say_hold(st->session, stream_channel(st), reason, &st->hold_reason);
    st->held = true;
}

bool stream_held(const struct stream *st)
{
    return st->held || st->session->held;
}

bool session_any_held(const struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        if (session->stream[i]->held) {
            return true;
        }
    }
    return session->held;
}

/* For a change in the directory, the workspace's limit, or the journal. */
bool stream_waits(const struct stream *st, uint64_t now_ms)
{
    const struct session *session = st->session;
    return stream_held(st) || now_ms < session->hold_until_ms ||
           journal_broken(session->root->journal);
}

bool session_blocked(const struct session *session)
{
    if (session->loss || session->unpublished || session_any_held(session) ||
        session->quarantined) {
        return true;
    }
    for (unsigned i = 0; i < session->streams; i++) {
        if (session->stream[i]->refused_lines || session->stream[i]->gap) {
            return true;
        }
    }
    return false;
}

struct stream *session_stream(struct session *session, const char *channel)
{
    int index = root_channel(session->root, channel);
    if (index < 0) {
        return NULL;
    }
    for (unsigned i = 0; i < session->streams; i++) {
        if (session->stream[i]->channel == index) {
            return session->stream[i];
        }
    }
    struct stream **slot = &session->stream[session->streams];
    struct stream *st =
        *slot ? *slot : malloc(sizeof *st); /* one forgotten is used anew */
    if (!st) {
        return NULL;
    }
    *slot = st;
    session->streams++;
    *st = (struct stream){.session = session, .channel = (uint8_t)index, .file = 1};
    /* A channel that is not followed this time keeps its place and stands in nobody's
     * way. */
    st->drained = st->at_shutdown = st->channel >= session->root->channels.count;
    return st;
}

const char *stream_channel(const struct stream *st)
{
    return st->session->root->channel_name[st->channel];
}

/* The last settled line of a stream is its shutdown: for layouts without a lock to probe.
 */
bool stream_ends_in_shutdown(const struct stream *st)
{
    const struct session *session = st->session;
    const struct root *root = session->root;
    char buf[TAIL_LOOK_BYTES];
    struct tail_chunk chunk;
    uint64_t back = st->offset < sizeof buf ? st->offset : sizeof buf;
    struct tail_where where = {.root = root->fd,
                               .path = session->path,
                               .channel = root->channel_name[st->channel],
                               .layout = (enum session_layout)session->layout,
                               .file = st->file,
                               .offset = st->offset - back,
                               .head = st->head,
                               .index = st->index,
                               .cache = &root->engine->gz};
    if (back == 0 ||
        tail_read(root->engine->config.sys, &where, buf, (size_t)back, &chunk) !=
            GPUFL_OK ||
        chunk.len != back || buf[back - 1] != '\n') {
        return false;
    }
    const char *before = back > 1 ? memrchr(buf, '\n', (size_t)back - 1) : NULL;
    const char *line = before ? before + 1 : buf;
    return ndjson_is_shutdown(line, (size_t)(buf + back - 1 - line));
}

bool session_silent(const struct session *session, uint64_t now_ms)
{
    return session->last_growth_ms && now_ms - session->last_growth_ms >= SILENCE_MS;
}

/* Whatever happens in it is told: its directory is watched, and its writer, which lives,
 * closes its files when it ends. */
bool session_tells(const struct session *session)
{
    return session->watched && !session->writer_gone && !session->writer_unknown &&
           !session->root->engine->polling;
}

/* One file of a live session grew: its channel waits for the flush interval, without a
 * look. \return false when only a look can tell what it means. */
bool session_grew(struct session *session, const char *file, uint64_t now_ms)
{
    const struct root *root = session->root;
    struct layout_name name = layout_parse(file);
    if (name.kind != LAYOUT_ACTIVE || name.gz || !session->looked || session->held ||
        session->layout != SESSION_LIVE || session->state != SESSION_OPEN ||
        !session_tells(session)) {
        return false;
    }
    for (unsigned i = 0; i < session->streams; i++) {
        struct stream *st = session->stream[i];
        if (strcmp(root->channel_name[st->channel], name.channel) == 0 && !st->held &&
            !st->at_shutdown && st->kind == STREAM_BATCHED) {
            session->last_growth_ms = now_ms;
            st->more = true;
            if (!st->offer) {
                stream_enqueue(st, true, engine_next_flush(root->engine, now_ms));
            }
            return true;
        }
    }
    return false;
}

/* No list and no request refers to it or to a stream of it, and no watcher knows it. */
bool session_idle(const struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        if (session->stream[i]->queued || session->stream[i]->offer) {
            return false;
        }
    }
    return !session->dirty && !session->later && !session->in_completing &&
           !session->watched && !session->complete_in_flight;
}

bool session_settled(const struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *st = session->stream[i];
        if (!st->drained || st->offer || st->missing) {
            return false;
        }
    }
    return session->streams > 0;
}
