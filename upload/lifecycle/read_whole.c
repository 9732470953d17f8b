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

bool read_whole_is_unchanged(const struct stream *st)
{
    const struct stream_whole *whole = &st->whole;
    struct tail_where where = stream_where(st);
    struct file_known found;
    return whole->unchanged_since && st->session->layout == SESSION_LIVE &&
           whole->file == st->end.at.file && whole->end == st->end.at.offset &&
           whole->file == st->file &&
           tail_unchanged_since(st->session->root->engine->config.sys, &where, &found) ==
               whole->unchanged_since &&
           file_known_same(&found, &whole->known);
}
