/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the other channels of a session, the last line of a file, and the last window of
 * each channel, in steps. */
#include "upload/core/shutdown.h"

#include <string.h>
#include <unistd.h>

#include "upload/core/offer.h"
#include "upload/source/identity.h"
#include "upload/source/ndjson.h"

#define LAST_LINE_BYTES 4096u

/* Where the last settled line ends. Before anything of a file is settled, that is in the
 * file before it. */
static struct tail_where shutdown_where(const struct stream *st)
{
    struct tail_where where = stream_where(st);
    where.sealed_only = false;
    bool begun = st->offset || st->session->layout != SESSION_LIVE;
    if (!begun && st->sealed.file && st->sealed.file + 1 == st->file) {
        where.file = st->sealed.file;
        where.offset = where.mark_at = st->sealed.bytes;
        where.mark = st->sealed.mark;
        where.known = NULL;
    }
    return where;
}

bool shutdown_is_last(const struct stream *st)
{
    char buf[LAST_LINE_BYTES];
    struct tail_chunk chunk;
    struct tail_where where = shutdown_where(st);
    uint64_t back = where.offset < sizeof buf ? where.offset : sizeof buf;
    if (st->ended_file == st->file) {
        return true; /* it may have been in what a person gave up */
    }
    where.offset -= back;
    if (back == 0 ||
        tail_read(st->session->root->engine->config.sys, &where, buf, (size_t)back,
                  &chunk) != GPUFL_OK ||
        chunk.len != back || buf[back - 1] != '\n') {
        return false;
    }
    const char *before = back > 1 ? memrchr(buf, '\n', (size_t)back - 1) : NULL;
    const char *line = before ? before + 1 : buf;
    return ndjson_is_shutdown(line, (size_t)(buf + back - 1 - line));
}

const struct stream *shutdown_awaits(const struct stream *st, uint64_t now_ms)
{
    const struct session *session = st->session;
    if (session_writer_is_silent(session, now_ms)) {
        return NULL;
    }
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *o = session->stream[i];
        bool empty = o->rest != STREAM_PENDING && !o->offer;
        bool at_end = (o->at_shutdown && (!o->offer || o->offer->is_shutdown)) ||
                      (empty && (session_writer_is_gone(session) || shutdown_is_last(o)));
        if (o != st && !at_end) {
            return o;
        }
    }
    return NULL;
}

bool shutdown_may_go(const struct stream *st, uint64_t now_ms)
{
    return !shutdown_awaits(st, now_ms);
}

void shutdown_release(const struct stream *st, uint64_t now_ms)
{
    for (unsigned i = 0; i < st->session->streams; i++) {
        struct stream *o = st->session->stream[i];
        if (o != st && o->at_shutdown && !o->offer) {
            stream_enqueue(o, true, now_ms);
        }
    }
}

/* What `gpufl trace` of the existing client writes for a killed job. */
static const char made_up[] = "\"synthetic\":true";

static bool shutdown_counts(const struct stream *st)
{
    return st->kind == STREAM_VERBATIM &&
           registry_follows(st->session->root, stream_channel(st));
}

/* A thread that is late may write lines behind the shutdown. \return LAST_WINDOW_OPEN if
 * none is there; *used is the length of the lines that were read. */
static enum last_window shutdown_in_lines(const char *text, size_t len, bool at_end,
                                          size_t *used)
{
    *used = 0;
    while (*used < len) {
        const char *line = text + *used;
        const char *newline = memchr(line, '\n', len - *used);
        size_t bytes = newline ? (size_t)(newline - line) : len - *used;
        if (!newline && !at_end) {
            return LAST_WINDOW_OPEN;
        }
        *used += bytes + (newline != NULL);
        if (ndjson_is_shutdown(line, bytes)) {
            return memmem(line, bytes, made_up, sizeof made_up - 1) ? LAST_WINDOW_SILENT
                                                                    : LAST_WINDOW_ENDS;
        }
    }
    return LAST_WINDOW_OPEN;
}

/* A line that is longer than what is read at once is no shutdown. */
static enum last_window shutdown_read_window(struct stream *st, int fd)
{
    struct engine *engine = st->session->root->engine;
    struct gz_cache *gz = gz_cache_for(&engine->gz, session_lane(st->session), &st->last);
    size_t cap = engine->config.max_batch_bytes;
    for (;;) {
        size_t len;
        size_t used;
        gpufl_status status =
            gz_cache_read(gz, fd, st->last.offset, engine->raw, cap, &len);
        if (status != GPUFL_OK) {
            return status == GPUFL_BUSY ? LAST_WINDOW_UNREAD : LAST_WINDOW_SILENT;
        }
        bool at_end = len < cap && !gz->part;
        enum last_window tells = shutdown_in_lines(engine->raw, len, at_end, &used);
        if (tells != LAST_WINDOW_OPEN || at_end) {
            return tells;
        }
        if (!used && gz->part) {
            return LAST_WINDOW_SILENT;
        }
        st->last.offset += used ? used : len;
        if (!gz_cache_spend(gz, len)) {
            return LAST_WINDOW_UNREAD;
        }
    }
}

static void shutdown_look_at(struct stream *st)
{
    const struct tail_where where = stream_where_window(st, st->highest);
    struct sidecar sidecar;
    bool gz;
    int fd;
    if (st->last.file != st->highest) {
        st->last = (struct stream_last){.file = st->highest};
    }
    if (st->last.tells != LAST_WINDOW_UNREAD) {
        return;
    }
    st->last.tells = LAST_WINDOW_SILENT;
    if (stream_read_sidecar(st, st->highest, &sidecar) != GPUFL_OK || sidecar.salvaged ||
        tail_open_window(st->session->root->engine->config.sys, &where, &fd, &gz) !=
            GPUFL_OK) {
        return;
    }
    st->last.tells = (uint8_t)shutdown_read_window(st, fd);
    close(fd);
}

void shutdown_look(struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        if (shutdown_counts(session->stream[i])) {
            shutdown_look_at(session->stream[i]);
        }
    }
}

static bool shutdown_window_tells(const struct stream *st, enum last_window what)
{
    return shutdown_counts(st) && st->last.file == st->highest &&
           st->last.tells == (uint8_t)what;
}

bool shutdown_ends(const struct session *session)
{
    bool ends = false;
    for (unsigned i = 0; i < session->streams; i++) {
        ends = ends || shutdown_window_tells(session->stream[i], LAST_WINDOW_ENDS);
    }
    return ends && !session->loss;
}

bool shutdown_lacks_window(const struct stream *st)
{
    bool lacks = stream_is_unseen(st) ? shutdown_counts(st)
                                      : shutdown_window_tells(st, LAST_WINDOW_OPEN);
    return lacks && !st->lost && shutdown_ends(st->session);
}

bool shutdown_windows_told(const struct session *session)
{
    bool told = true;
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *st = session->stream[i];
        bool read = st->last.file == st->highest && st->last.tells != LAST_WINDOW_UNREAD;
        told = told && (!shutdown_counts(st) || read) && !shutdown_lacks_window(st);
    }
    return told;
}
