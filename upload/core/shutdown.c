/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the other channels of a session, and the last line of a file. */
#include "upload/core/shutdown.h"

#include <string.h>

#include "upload/core/offer.h"
#include "upload/source/ndjson.h"

#define LAST_LINE_BYTES 4096u

/* Where the last settled line ends. Before anything of a file is settled, that is in the
 * file before it. */
static struct tail_where shutdown_where(const struct stream *st)
{
    struct tail_where where = stream_where(st);
    where.sealed_only = false;
    if (st->offset == 0 && st->sealed.file && st->sealed.file + 1 == st->file) {
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

bool shutdown_may_go(const struct stream *st, uint64_t now_ms)
{
    const struct session *session = st->session;
    if (session_writer_is_unprobed(session) && session_silent(session, now_ms)) {
        return true;
    }
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *o = session->stream[i];
        bool empty = o->rest != STREAM_PENDING && !o->offer;
        bool at_end = (o->at_shutdown && (!o->offer || o->offer->is_shutdown)) ||
                      (empty && (session_writer_is_gone(session) || shutdown_is_last(o)));
        if (o != st && !at_end) {
            return false;
        }
    }
    return true;
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
