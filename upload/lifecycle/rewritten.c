/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what was sent of a file with what stands there now. A time of change that is
 * the same proves little, as clocks of file systems are coarse: so before the end of a
 * session is reported, the bytes are compared once more, unless they were read
 * whole and the time shows that they did not change: from before the first read of a file
 * until after the last. Every read in between saw the same bytes. */
#include "upload/lifecycle/rewritten.h"

#include "upload/core/session_streams.h"

static enum file_match rewritten_stream(const struct stream *st)
{
    const struct root *root = st->session->root;
    struct tail_where where = stream_where(st);
    bool known = st->head || st->session->layout != SESSION_SHIFTING;
    bool read = known && st->offset && st->kind == STREAM_BATCHED &&
                st->channel < root->channels.count && st->ended_file != st->file &&
                !stream_is_cut(st);
    return read ? tail_compare(root->engine->config.sys, &where) : FILE_MATCHES;
}

static bool rewritten_is(enum file_match match)
{
    return match == FILE_DIFFERS || match == FILE_SHORTER;
}

/* It is unpacked to be compared, which its next read does unless it knows the file. */
static bool rewritten_gz(struct stream *st)
{
    bool again = st->compared_ns && st->offset && !stream_is_cut(st) &&
                 st->session->layout == SESSION_LIVE;
    if (again) {
        st->known = (struct file_known){0};
    }
    return again;
}

bool rewritten_since(struct stream *st, const struct scan_channel *seen)
{
    if (st->compared_ns == seen->active_changed_ns) {
        return false;
    }
    bool gz = seen->has_active_gz && !seen->has_active;
    enum file_match match = gz ? FILE_MATCHES : rewritten_stream(st);
    bool rewritten = gz ? rewritten_gz(st) : rewritten_is(match) || match == FILE_LATER;
    st->compared_ns = rewritten && !gz ? 0 : seen->active_changed_ns;
    st->all_read = st->all_read && !rewritten;
    return rewritten;
}

/* Whatever the next inspection sees, it is read again. */
static void rewritten_read_again(struct stream *st)
{
    st->compared_ns = 0;
    st->known = (struct file_known){0};
    st->all_read = false;
    st->rest = STREAM_PENDING;
}

bool rewritten_session(struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        if (rewritten_is(rewritten_stream(session->stream[i]))) {
            rewritten_read_again(session->stream[i]);
            return true;
        }
    }
    return false;
}

void read_whole_begin(struct stream *st, const struct tail_chunk *chunk)
{
    if (st->offset == 0) {
        st->whole = (struct stream_whole){.known = st->known,
                                          .unchanged_since = chunk->unchanged_since,
                                          .file = st->file};
    }
}

void read_whole_took(struct stream *st, uint64_t len)
{
    struct stream_whole *whole = &st->whole;
    bool follows = whole->file == st->file && whole->end == st->offset &&
                   file_known_same(&whole->known, &st->known);
    whole->unchanged_since = follows ? whole->unchanged_since : 0;
    whole->end += len;
}

struct stream_whole read_whole_of_end(const struct stream *st)
{
    struct stream_whole now = {.end = st->end.at.offset, .file = st->end.at.file};
    struct tail_where where = stream_where(st);
    where.file = now.file;
    where.sealed_only = now.file <= st->highest;
    if (st->session->layout == SESSION_LIVE) {
        now.unchanged_since = tail_unchanged_since(st->session->root->engine->config.sys,
                                                   &where, &now.known);
    }
    return now;
}

bool read_whole_is_unchanged(const struct stream *st)
{
    const struct stream_whole *whole = &st->whole;
    if (!whole->unchanged_since || whole->file != st->end.at.file ||
        whole->end != st->end.at.offset) {
        return false;
    }
    struct stream_whole now = read_whole_of_end(st);
    return now.unchanged_since == whole->unchanged_since &&
           file_known_same(&now.known, &whole->known);
}
