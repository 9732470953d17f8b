/* SPDX-License-Identifier: Apache-2.0 */
/* Goes by the time of change, from before the first read of a file until after the last.
 * Every read in between saw the same bytes. */
#include "upload/lifecycle/read_whole.h"

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
