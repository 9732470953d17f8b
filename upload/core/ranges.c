/* SPDX-License-Identifier: Apache-2.0 */
/* Adds ranges to the list, the shares of the owners and the journal, and removes them. */
#include "upload/core/ranges.h"

#include "base/log.h"
#include "upload/core/room.h"
#include "upload/core/stream_numbers.h"
#include "upload/journal/record_apply.h"

static void ranges_charge_one(const struct root *root,
                              const struct record_quarantine *range)
{
    shares_add(&root->engine->ranges, range->owner, 1);
}

static void ranges_uncharge(const struct root *root,
                            const struct record_quarantine *range)
{
    shares_remove(&root->engine->ranges, range->owner, 1);
    root->engine->ranges_left = true;
}

bool ranges_restore(struct root *root, const struct record_quarantine *range)
{
    bool added = range_list_add(&root->quarantine, range);
    if (added) {
        ranges_charge_one(root, range);
    }
    return added;
}

void ranges_unlist(struct root *root, const struct record_quarantine *range)
{
    const struct record_released released = {
        .stream = range->stream, .file = range->file, .begin = range->begin};
    struct record_quarantine taken;
    (void)ranges_release(root, &released, &taken);
}

bool ranges_add(const struct stream *st, struct record_quarantine *range)
{
    struct root *root = st->session->root;
    range->stream = st->id;
    range->owner = room_owner_of(st->session);
    bool added = ranges_restore(root, range);
    if (added && !record_append_quarantine(root->journal, range)) {
        ranges_unlist(root, range);
        added = false;
    }
    return added;
}

void ranges_say(const struct stream *st, const struct record_quarantine *range, bool read)
{
    struct session *session = st->session;
    struct engine *engine = session->root->engine;
    uint64_t bytes = range->end - range->begin;
    session->quarantined++;
    counters_add(&engine->counters.fate[COUNTERS_QUARANTINED], range->lines, bytes);
    if (!read) {
        counters_add(&engine->counters.read, range->lines, bytes);
    }
    counters_note_status(&engine->counters.quarantined, range->status);
    log_error(engine->config.log, "upload.quarantined",
              "session=%s channel=%s file=%u begin=%llu end=%llu status=%d reason=\"%s\"",
              session->id, stream_channel(st), range->file,
              (unsigned long long)range->begin, (unsigned long long)range->end,
              range->status, range->reason);
    trouble_say(&engine->trouble, "session %s, channel %s: a range is quarantined: %s",
                session->id, stream_channel(st), range->reason);
}

bool ranges_skipped(const struct stream *st, const struct reply_end *end,
                    struct record_quarantine *out)
{
    bool same = st->end.at.file == end->at.file;
    *out = (struct record_quarantine){
        .sequence = st->sequence,
        .file = end->at.file,
        .begin = same ? st->end.at.offset : 0,
        .end = end->at.offset,
        .lines = 1,
        .reason = "refused before: the backend knows that it was not sent"};
    return !st->lost && end->losses == st->end.losses && end->skips > st->end.skips &&
           end->skips > st->refused_lines && end->at.lines == st->end.at.lines + 1 &&
           out->end > out->begin;
}

bool ranges_release(struct root *root, const struct record_released *released,
                    struct record_quarantine *out)
{
    bool taken = range_list_take(&root->quarantine, released, out);
    if (taken) {
        ranges_uncharge(root, out);
    }
    return taken;
}

void ranges_charge(const struct root *root, struct record_quarantine *range,
                   uint32_t owner)
{
    shares_remove(&root->engine->ranges, range->owner, 1);
    range->owner = owner;
    ranges_charge_one(root, range);
}

struct ranges_kept {
    const struct root *root;
    bool (*keeps)(void *arg, struct record_quarantine *range); /* NULL = none */
    void *arg;
};

static bool ranges_keep_one(void *arg, struct record_quarantine *range)
{
    const struct ranges_kept *kept = arg;
    bool keeps = kept->keeps && kept->keeps(kept->arg, range);
    if (!keeps) {
        ranges_uncharge(kept->root, range);
    }
    return keeps;
}

void ranges_keep(struct root *root,
                 bool (*keeps)(void *arg, struct record_quarantine *range), void *arg)
{
    struct ranges_kept kept = {.root = root, .keeps = keeps, .arg = arg};
    range_list_keep(&root->quarantine, 0, root->quarantine.count, ranges_keep_one, &kept);
}

void ranges_keep_from(struct root *root, uint32_t stream, uint32_t file,
                      bool (*keeps)(void *arg, struct record_quarantine *range),
                      void *arg)
{
    struct ranges_kept kept = {.root = root, .keeps = keeps, .arg = arg};
    range_list_keep_from(&root->quarantine, stream, file, ranges_keep_one, &kept);
}

struct ranges_back {
    struct stream *stream;
    const struct record_settled *to;
};

static bool ranges_keep_settled(void *arg, struct record_quarantine *range)
{
    const struct ranges_back *back = arg;
    struct stream *st = back->stream;
    bool settled = record_range_is_settled(range, back->to->file, back->to->end);
    if (!settled) {
        const struct record_released released = {.stored = 0};
        record_apply_released(&released, range, &st->lines, &st->refused_lines);
        st->session->quarantined -= st->session->quarantined > 0;
    }
    return settled;
}

void ranges_go_back(struct stream *st, const struct record_settled *to)
{
    struct ranges_back back = {.stream = st, .to = to};
    ranges_keep_from(st->session->root, st->id, to->file, ranges_keep_settled, &back);
}

bool ranges_let_out(struct stream *st, const struct record_released *record)
{
    struct record_quarantine range;
    bool listed = ranges_release(st->session->root, record, &range);
    if (listed) {
        record_apply_released(record, &range, &st->lines, &st->refused_lines);
        st->session->quarantined -= st->session->quarantined > 0;
    }
    return listed;
}

static bool range_ends_by(const struct record_quarantine *range,
                          const struct stream_place *end)
{
    return range->file < end->file ||
           (range->file == end->file && range->end <= end->offset);
}

/* What is left of a range once the stream has gone back into it is offered again. */
void ranges_release_stored(struct stream *st, const struct reply_end *end)
{
    struct root *root = st->session->root;
    const struct range_list *list = &root->quarantine;
    size_t at = range_list_first(list, st->id, 0);
    while (!end->losses && !end->skips && range_list_is_of(list, at, st->id) &&
           range_ends_by(list->range[at], &end->at)) {
        const struct record_quarantine *range = list->range[at];
        const struct record_released released = {.stream = range->stream,
                                                 .file = range->file,
                                                 .begin = range->begin,
                                                 .stored = true};
        if (!record_append_released(root->journal, &released) ||
            !ranges_let_out(st, &released)) {
            return; /* it stays listed */
        }
    }
}

uint32_t ranges_next_in(const struct root *root, uint32_t stream, uint32_t file)
{
    size_t at = range_list_first(&root->quarantine, stream, file);
    return range_list_is_of(&root->quarantine, at, stream)
               ? root->quarantine.range[at]->file
               : 0;
}

void ranges_forget(struct root *root, uint32_t stream)
{
    ranges_keep_from(root, stream, 0, NULL, NULL);
}

void ranges_forget_parked(struct root *root, const struct parked_session *session)
{
    struct packed_stream stream[SCAN_CHANNELS_MAX];
    if (root->quarantine.count && !session->held) {
        parked_streams(session, stream);
        for (unsigned i = 0; i < session->streams; i++) {
            ranges_forget(root, stream[i].id);
        }
    }
}

void ranges_clear(struct root *root)
{
    ranges_keep(root, NULL, NULL);
}

/* Whose it is could not be told while the journal was read. */
static bool ranges_is_settled(void *arg, struct record_quarantine *range)
{
    const struct root *root = arg;
    const struct stream *st = stream_numbered(root, range->stream);
    bool settled = st && record_range_is_settled(range, st->file, st->offset);
    if (settled) {
        ranges_charge(root, range, room_owner_of(st->session));
    } else if (st) {
        st->session->quarantined--;
    }
    return settled;
}

void ranges_unlist_unsettled(struct root *root)
{
    ranges_keep(root, ranges_is_settled, root);
}
