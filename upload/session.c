/* SPDX-License-Identifier: Apache-2.0 */
/* One session: looked at when something may have changed, completed when all is settled.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "upload/engine_internal.h"
#include "upload/ndjson.h"

#define TAIL_LOOK_BYTES 4096u

void session_mark(struct session *session)
{
    struct engine *engine = session->root->engine;
    if (!session->dirty) {
        session->dirty = true;
        session->next_dirty = engine->dirty;
        engine->dirty = session;
    }
}

/* Said once, however often it is looked at. */
static void say_hold(struct session *session, const char *channel, const char *reason,
                     const char **said)
{
    struct engine *engine = session->root->engine;
    if (*said != reason) {
        log_error(engine->config.log, "session.held",
                  "session=%s channel=%s reason=\"%s\"", session->id, channel, reason);
        engine_problem(engine, "session %s, channel %s waits: %s", session->id, channel,
                       reason);
    }
    *said = reason;
}

/* All of the session waits for a change in its directory. */
static void session_hold(struct session *session, const char *reason)
{
    say_hold(session, "*", reason, &session->hold_reason);
    session->held = true;
}

/* This channel waits; the others go on. */
void stream_hold(struct stream *st, const char *reason)
{
    say_hold(st->session, st->session->root->channel_name[st->channel], reason,
             &st->hold_reason);
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
    return st;
}

/* Is something of this channel not settled yet? */
static bool pending(const struct session *session, const struct stream *st,
                    const struct scan_channel *seen)
{
    switch ((enum session_layout)session->layout) {
    case SESSION_WINDOWS: /* a sidecar is there before its payload */
        return st->file <= seen->highest && !st->all_read;
    case SESSION_SHIFTING: /* only reading tells how much */
        return !st->all_read;
    case SESSION_LIVE:
        /* Smaller than what was sent of it is a change, too: reading tells which. */
        return st->file <= seen->highest ||
               (seen->has_active && seen->active_bytes != st->offset);
    }
    return true;
}

static uint64_t behind_bytes(const struct stream *st, const struct scan_channel *seen)
{
    bool sealed = st->session->layout == SESSION_SHIFTING ? st->index > 0
                                                          : st->file <= seen->highest;
    if (sealed) {
        return UINT64_MAX; /* never live data */
    }
    return seen->active_bytes > st->offset ? seen->active_bytes - st->offset : 0;
}

static bool followed(const struct root *root, const char *channel)
{
    for (unsigned i = 0; i < root->channels.count; i++) {
        if (strcmp(root->channels.name[i], channel) == 0) {
            return true;
        }
    }
    return false;
}

/* As a number: another one as soon as there may be something new to read. */
static uint64_t seen_of(const struct session *session, const struct scan_channel *seen)
{
    if (session->layout == SESSION_WINDOWS) {
        return (uint64_t)seen->highest << 33 | (uint64_t)seen->payloads << 2 |
               (unsigned)session->unpublished << 1 | (unsigned)session->writer_gone;
    }
    return seen->active_bytes << 9 | seen->highest << 2 |
           (unsigned)seen->has_active << 1 | (unsigned)seen->has_active_gz;
}

static void look_at_channel(struct session *session, const struct scan_channel *seen,
                            uint64_t now_ms)
{
    struct engine *engine = session->root->engine;
    if (!followed(session->root, seen->name)) {
        return;
    }
    struct stream *st = session_stream(session, seen->name);
    if (!st) {
        return; /* no memory: the next look */
    }
    if (st->kind == STREAM_UNSET) {
        st->kind = session->layout == SESSION_WINDOWS ? STREAM_VERBATIM : STREAM_BATCHED;
        import_position(st);
    }
    st->held = false; /* looked at anew: the reason may be gone */
    st->highest = seen->highest;
    st->lowest = seen->lowest;
    uint64_t before = st->seen;
    st->seen = seen_of(session, seen);
    st->all_read = st->all_read && st->seen == before;
    session->seen_bytes += seen->active_bytes + seen->highest + seen->payloads;
    if (!pending(session, st, seen)) {
        st->drained = !st->offer;
        return;
    }
    if (st->offer || (st->parked && !stream_others_done(st, now_ms))) {
        return;
    }
    bool backlog =
        behind_bytes(st, seen) >= engine->config.max_batch_bytes || session->writer_gone;
    stream_enqueue(st, !backlog,
                   backlog ? now_ms : now_ms + engine->config.flush_interval_ms);
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

static bool all_settled(const struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        if (!session->stream[i]->drained || session->stream[i]->offer) {
            return false;
        }
    }
    return session->streams > 0;
}

/* Nothing can be probed: every channel ends in shutdown, or all has been silent for long.
 */
static bool ended_by_evidence(const struct session *session, uint64_t now_ms)
{
    uint64_t orphan_ms = session->root->engine->config.orphan_timeout_ms;
    if (session->layout == SESSION_WINDOWS && session_silent(session, now_ms)) {
        return true; /* its writer removes `.tmp` at its end */
    }
    if (orphan_ms && now_ms - session->last_growth_ms >= orphan_ms) {
        return true;
    }
    for (unsigned i = 0; i < session->streams; i++) {
        if (!stream_ends_in_shutdown(session->stream[i])) {
            return false;
        }
    }
    return session->streams > 0;
}

/* The lock first, the directory after it: what a writer that is gone has written is all
 * in that listing. */
static gpufl_status look(struct session *session, struct scan *scan)
{
    const struct root *root = session->root;
    const struct sys *sys = root->engine->config.sys;
    char lock[FACTS_PATH_MAX + LAYOUT_PATH_MAX];
    snprintf(lock, sizeof lock, "%s/%s", session->path, LAYOUT_LOCK);
    bool here = root->engine->config.in_job && liveness_is_open_here(root->fd, lock);
    enum liveness before = here ? WRITER_LIVE : liveness_probe(sys, root->fd, lock, NULL);
    gpufl_status status = scan_session(sys, root->fd, session->path, session->id, scan);
    if (status == GPUFL_OK && before == WRITER_UNKNOWN && scan->has_manifest) {
        before = liveness_probe(sys, root->fd, lock, &scan->manifest);
    }
    if (status == GPUFL_OK && scan->layout == SESSION_SHIFTING) {
        before = WRITER_UNKNOWN; /* its writer takes no lock: others plant one there */
    }
    session->root->change_stamp += session->writer_gone != (before == WRITER_GONE);
    session->writer_gone = before == WRITER_GONE;
    session->writer_unknown = before == WRITER_UNKNOWN;
    return status;
}

static void check_layout(struct session *session, const struct scan *scan)
{
    bool changed = session->looked && session->layout != scan->layout;
    session->held = false; /* looked at anew: the reason may be gone */
    session->layout = (uint8_t)scan->layout;
    session->loss = scan->has_loss;
    if (scan->refused != session->refused) {
        session->refused = scan->refused;
        log_warn(
            session->root->engine->config.log, "session.refused",
            "session=%s names=%u note=\"links, devices or too many channels: nothing of "
            "them is read\"",
            session->id, scan->refused);
    }
    session->root->change_stamp += !session->looked; /* now it may be watched */
    session->looked = true;
    if (changed && session->streams && session->stream[0]->id) {
        session_hold(session, "its layout changed while it was being read");
    }
    session->unpublished =
        scan->layout == SESSION_WINDOWS && scan->has_tmp && session->writer_gone;
    const char *left = session->unpublished ? session_salvage(session) : NULL;
    if (left) {
        say_hold(session, "*", left, &session->salvage_reason);
    }
}

void session_look(struct session *session, uint64_t now_ms)
{
    struct engine *engine = session->root->engine;
    struct scan scan;
    uint64_t seen_before = session->seen_bytes;
    bool was_held = session_any_held(session);
    if (session->state == SESSION_DONE || !session->wanted) {
        return;
    }
    gpufl_status status = look(session, &scan);
    if (status != GPUFL_OK) {
        if (status == GPUFL_ERR_IO) {
            session_hold(session, "its directory cannot be read");
        }
        return;
    }
    check_layout(session, &scan);
    session->seen_bytes = 0;
    for (unsigned i = 0; i < scan.channels; i++) {
        look_at_channel(session, &scan.channel[i], now_ms);
    }
    if (session->seen_bytes != seen_before || !session->last_growth_ms) {
        session->last_growth_ms = now_ms;
    }
    if (!was_held && !session->held) {
        session->hold_reason = NULL;
    }
    cleanup_session(session);
    if (!all_settled(session)) {
        session_set_state(session, SESSION_OPEN);
        return;
    }
    if (session->writer_unknown && !scan.has_tmp && ended_by_evidence(session, now_ms)) {
        session->writer_gone = true;
    }
    if (session->writer_gone && !session_blocked(session) &&
        !engine->config.settle_only && session->state == SESSION_OPEN) {
        session_set_state(session, SESSION_COMPLETING);
        session->complete_at_ms = now_ms;
    }
}
