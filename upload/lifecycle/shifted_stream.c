/* SPDX-License-Identifier: Apache-2.0 */
/* Identifies the current file of a stream in the shifting layout by its head. */
#include "upload/lifecycle/shifted_stream.h"

#include "upload/core/position.h"
#include "upload/source/shifting.h"

/* The journal was lost, and the progress file has no more than a number and an offset. If
 * no file was deleted, and none is being renamed, the number tells which file it is. */
static bool shifted_stream_by_number(const struct stream *st,
                                     const struct shifting_place *first,
                                     struct shifting_place *out)
{
    const struct sys *sys = st->session->root->engine->config.sys;
    struct tail_where where = stream_where(st);
    struct shifting_place again;
    if (!first->begins || st->file > first->index + 1) {
        return false;
    }
    where.index = first->index + 1 - st->file;
    return shifting_by_crc(sys, &where, 0, out) == GPUFL_OK &&
           shifting_first(sys, &where, first->index, &again) == GPUFL_OK &&
           again.index == first->index;
}

static void shifted_stream_begin(struct stream *st, const struct shifting_place *first)
{
    struct shifting_place place = *first;
    bool unknown = st->offset || (st->file > 1 && !st->gap);
    if (unknown && !shifted_stream_by_number(st, first, &place)) {
        trouble_say(&st->session->root->engine->trouble,
                    "session %s, channel %s: which of its files was being read is not "
                    "known any more: what is there is sent from the start",
                    st->session->id, stream_channel(st));
        position_begin_at(st, 1, 0, 0);
    }
    position_begin_at(st, st->file, st->offset, place.head);
    st->index = (uint8_t)place.index;
    st->known = place.known;
}

bool shifted_stream_find(struct stream *st)
{
    struct tail_where where = stream_where(st);
    struct shifting_place first;
    if (st->session->layout != SESSION_SHIFTING || st->head) {
        return true;
    }
    switch (shifting_first(st->session->root->engine->config.sys, &where, st->highest,
                           &first)) {
    case GPUFL_OK:
        shifted_stream_begin(st, &first);
        return true;
    case GPUFL_ERR_NOT_FOUND:
        st->rest = STREAM_DRAINED; /* nothing whole is there yet */
        return false;
    default:
        stream_hold(st, HELD_ROTATED_UNREADABLE);
        return false;
    }
}

enum made shifted_stream_next(struct stream *st)
{
    struct tail_where where = stream_where(st);
    struct shifting_place next;
    gpufl_status status =
        shifting_next(st->session->root->engine->config.sys, &where, &next);
    if (status == GPUFL_OK) {
        struct stream_end before = {
            .head = st->head, .offset = st->offset, .mark = st->mark};
        position_next_file(st, next.head);
        st->before = before;
        st->index = (uint8_t)next.index;
        st->known = next.known;
        return MADE_STEP;
    }
    if (status == GPUFL_ERR_NOT_FOUND) {
        st->rest = STREAM_DRAINED;
    } else {
        stream_hold(st, HELD_ROTATED_UNREADABLE);
    }
    return MADE_NOTHING;
}

/* Nothing was sent of the file, and it was compressed before it could be read: which of
 * several alike it was, the one before it tells, or that it was the first. */
static bool shifted_stream_back(struct stream *st)
{
    struct stream_end before = st->before;
    if (st->offset || !st->known.inode) {
        return false;
    }
    st->before = (struct stream_end){0};
    position_begin_at(st, before.head ? st->file - 1 : st->file, before.offset,
                      before.head);
    st->mark = before.mark;
    return true;
}

enum made shifted_stream_lost(struct stream *st)
{
    struct root *root = st->session->root;
    struct tail_where where = stream_where(st);
    if (shifted_stream_back(st)) {
        return MADE_STEP;
    }
    if (!shifting_overflows(root->engine->config.sys, &where)) {
        stream_hold(st, HELD_ROTATED_GONE);
        return MADE_NOTHING;
    }
    position_next_file(st, 0);
    st->gap = true;
    struct record_stream record = stream_record(st);
    if (st->id && !record_append_stream(root->journal, &record)) {
        return MADE_NOTHING;
    }
    trouble_say(&root->engine->trouble,
                "session %s, channel %s: its writer deleted files before they were sent",
                st->session->id, stream_channel(st));
    return MADE_STEP;
}
