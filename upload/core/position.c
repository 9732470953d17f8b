/* SPDX-License-Identifier: Apache-2.0 */
/* Moves positions as the journal's records say, and appends those records. */
#include "upload/core/position.h"

#include "upload/core/ranges.h"
#include "upload/core/session_streams.h"
#include "upload/core/stream_numbers.h"
#include "upload/journal/record_apply.h"

static bool position_tops(const struct record_end *end, const struct record_end *before)
{
    return end->top_file != before->top_file ? end->top_file > before->top_file
                                             : end->top_offset > before->top_offset;
}

/* It is sent again, and nothing may tell then that a person gave up the rest. */
static bool position_lost_after(const struct stream *st)
{
    return st->lost_after || (st->positions && st->lost && !st->end.losses);
}

void position_apply(struct stream *st, const struct record_settled *settled)
{
    if (st->file != settled->file) {
        st->known = (struct file_known){0};
    }
    if (record_goes_back(settled, st->file, st->offset)) {
        ranges_go_back(st, settled);
    }
    st->file = settled->file;
    st->head = settled->head;
    st->offset = settled->end;
    st->mark = settled->mark;
    st->sequence = settled->sequence > st->sequence ? settled->sequence : st->sequence;
    uint64_t lines = (uint64_t)settled->lines + settled->rejected_lines;
    st->keep =
        st->keep || settled->how >= SETTLED_REFUSED_FINAL || settled->rejected_lines;
    st->delivered = st->delivered && !lines && settled->how < SETTLED_GIVEN_UP;
    record_apply_settled(settled, &st->lines, &st->refused_lines);
    st->checked = st->jump_measured = false;
    st->jump_crc = 0;
    if (settled->at.at.file) {
        st->lost_after = st->lost_after && !position_tops(&settled->at, &st->end);
        st->end = settled->at;
        st->positions = true;
        st->unproved = st->voided = st->jump = false;
    }
    if (st->positions && settled->how >= SETTLED_GIVEN_UP) {
        st->jump = st->file != st->end.at.file || st->offset != st->end.at.offset;
        st->unproved = st->voided = false;
        st->asked_for = HELD_NOT;
        st->seek_at_ms = 0;
    }
    if (settled->how >= SETTLED_GIVEN_UP) {
        st->lost = true;
        st->gap = false;
        st->ended_file = settled->how == SETTLED_ENDED ? settled->file : st->ended_file;
    } else if (st->ended_file == settled->file && lines) {
        st->ended_file = 0; /* what is sent of that name is there again, or another one */
    }
}

/* The files before the current one may be deleted as soon as the record is on disk. */
static void position_passed_file(struct stream *st)
{
    const struct root *root = st->session->root;
    session_mark(st->session);
    if (stream_deletes(st)) {
        journal_want(root->journal);
        session_mark_later(st->session, root->engine->config.sys->now_ms());
    }
}

bool position_advance(struct stream *st, const struct record_settled *settled)
{
    struct record_settled record = *settled;
    record.stream = st->id;
    uint64_t ticket = record_append_settled(st->session->root->journal, &record);
    if (!ticket) {
        return false;
    }
    if (record.file > st->journal_file) {
        st->journal_file = record.file;
        st->journal_file_ticket = ticket;
        position_passed_file(st);
    } else if (record.at.at.file && record.file < st->journal_file) {
        st->journal_file = record.file; /* the backend went back */
    }
    position_apply(st, &record);
    st->sent = true;
    return true;
}

static void position_raise_top(struct record_end *end)
{
    if (end->top_file < end->at.file ||
        (end->top_file == end->at.file && end->top_offset < end->at.offset)) {
        end->top_file = end->at.file;
        end->top_offset = end->at.offset;
    }
}

/* Where the stream ends once the backend has the part of \p offer. */
static struct record_end position_behind(const struct offer *offer)
{
    struct record_end end = offer->stream->end;
    if (!offer->part.begin.file) {
        return (struct record_end){0};
    }
    end.at = offer->part.end;
    end.file_crc = offer->part.file_crc;
    end.losses = offer->part.losses;
    end.skips = offer->part.skips;
    end.epoch = offer->stream->session->root->engine->origin.epoch;
    end.state = END_PROVED; /* whatever it was in another epoch */
    position_raise_top(&end);
    return end;
}

bool position_settle(const struct offer *offer, uint32_t lines, enum settled_how how)
{
    struct stream *st = offer->stream;
    bool window = st->kind == STREAM_VERBATIM;
    const struct record_mark none = {0};
    return position_advance(
        st, &(struct record_settled){
                .sequence = offer->record.sequence,
                .file = window ? offer->record.file + 1 : offer->record.file,
                .end = window ? 0 : offer->record.end,
                .lines = lines,
                .how = (uint8_t)how,
                .head = offer->record.head,
                .mark = window ? none : offer->record.mark,
                .at = position_behind(offer),
                .rejected_lines = offer->rejected_lines,
            });
}

/* The journal has the range before it is settled. */
static bool position_list(struct stream *st, const struct record_quarantine *range,
                          const struct record_settled *settled)
{
    struct record_quarantine listed = *range;
    if (!offer_journal_stream(st) || !ranges_add(st, &listed)) {
        return false; /* without its stream's number, it would be nobody's */
    }
    if (!position_advance(st, settled)) {
        ranges_unlist(st->session->root, &listed); /* it is still to be offered */
        return false;
    }
    ranges_say(st, &listed, st->offer && st->offer->record.file == range->file);
    return true;
}

bool position_quarantine(struct stream *st, const struct record_quarantine *record)
{
    bool window = st->kind == STREAM_VERBATIM;
    bool offered = st->offer && st->offer->record.file == record->file;
    struct record_settled settled = {.sequence = record->sequence,
                                     .file = window ? record->file + 1 : record->file,
                                     .end = window ? 0 : record->end,
                                     .lines = record->lines,
                                     .how = SETTLED_QUARANTINED,
                                     .head = offered ? st->offer->record.head : st->head};
    if (offered && !window && st->offer->record.end == record->end) {
        settled.mark = st->offer->record.mark;
        settled.at = position_behind(st->offer);
    }
    return position_list(st, record, &settled);
}

/* Where the stream is once \p end is its own. */
static struct record_settled position_at(const struct stream *st,
                                         const struct reply_end *end)
{
    struct record_settled settled = {
        .sequence = st->sequence,
        .file = end->at.file,
        .end = end->at.offset,
        .how = SETTLED_ACKED,
        .at = {.at = end->at,
               .file_crc = end->file_crc,
               .losses = end->losses,
               .skips = end->skips,
               .epoch = st->session->root->engine->origin.epoch,
               .top_file = st->end.top_file,
               .top_offset = st->end.top_offset},
    };
    position_raise_top(&settled.at);
    return settled;
}

/* \p skipped: the range that was skipped before it, or NULL. */
static bool position_take(struct stream *st, const struct record_settled *settled,
                          const struct record_quarantine *skipped)
{
    bool nothing = settled->file == 1 && settled->end == 0;
    if (!st->id && nothing && settled->how == SETTLED_ACKED) {
        position_apply(st, settled); /* nothing was sent: the journal learns it then */
    } else if (skipped ? !position_list(st, skipped, settled)
                       : !offer_journal_stream(st) || !position_advance(st, settled)) {
        return false;
    }
    st->known = (struct file_known){0};
    st->seen = 0;
    st->split_lines = 0;
    st->took = STREAM_TOOK_PART;
    st->held = st->all_read = st->at_shutdown = false;
    return true;
}

static void position_note_lost_after(struct stream *st, bool lost_after)
{
    if (lost_after && !st->lost_after) {
        st->lost_after = true;
        struct record_stream record = stream_record(st);
        (void)(st->id && record_append_stream(st->session->root->journal, &record));
    }
}

/* The record of a skip is lost, or the answer to it was not heard: a range is one line at
 * least. Half a line that a killed writer left at the end is no line that was refused. */
static void position_note_lacks(struct stream *st, uint32_t skips)
{
    bool lost = stream_is_lost_elsewhere(st);
    if (st->id && !st->lost && (lost || st->refused_lines < skips)) {
        session_say_refused(st->session, stream_channel(st), st->refused_lines, skips);
        st->refused_lines = st->refused_lines < skips ? skips : st->refused_lines;
        st->keep = st->keep || lost;
        struct record_stream record = stream_record(st);
        (void)!record_append_stream(st->session->root->journal, &record);
        stream_say_lost_elsewhere(st);
    }
}

bool position_adopt(struct stream *st, const struct reply_end *end,
                    const struct stream_end *own)
{
    struct record_settled settled = position_at(st, end);
    struct record_quarantine skipped;
    bool back = stream_place_before(&end->at, &st->end.at);
    bool lost_after = back && position_lost_after(st);
    settled.head = own->head;
    settled.mark = own->mark;
    bool proved = own->mark.bytes > 0; /* not if a person goes without its bytes */
    bool skip = proved && !own->torn && ranges_skipped(st, end, &skipped);
    if (skip) {
        settled.how = SETTLED_QUARANTINED;
        settled.lines = skipped.lines;
    }
    if (!position_take(st, &settled, skip ? &skipped : NULL)) {
        return false;
    }
    position_note_lost_after(st, lost_after);
    position_note_lacks(st, end->skips - (own->torn && end->skips > 0));
    return true;
}

void position_note_whole(struct stream *st)
{
    bool before = st->lost || st->gap;
    st->lost = st->gap = false;
    struct record_stream record = stream_record(st);
    if (before && st->id) {
        (void)!record_append_stream(st->session->root->journal, &record);
    }
}

void position_note_told(struct stream *st, const struct reply_end *end, bool moved)
{
    position_note_lost_after(st, end->lost_after);
    if (moved && !end->losses && !end->skips && !end->lost_after) {
        position_note_whole(st);
    }
}

bool position_part_at(struct stream *st, const struct reply_end *end, uint32_t file,
                      const struct stream_end *own)
{
    struct record_settled settled = position_at(st, end);
    settled.file = file;
    settled.head = own->head;
    settled.end = own->offset;
    settled.how = SETTLED_GIVEN_UP;
    return position_take(st, &settled, NULL);
}

bool position_note_end(struct stream *st, enum end_state state)
{
    uint8_t before = st->end.state;
    st->end.state = (uint8_t)state;
    struct record_stream record = stream_record(st);
    if (before == state ||
        (st->id ? record_append_stream(st->session->root->journal, &record) != 0
                : offer_journal_stream(st))) {
        return true;
    }
    st->end.state = before;
    return false;
}

bool position_choose(struct stream *st, bool positions)
{
    struct stream before = *st;
    if (positions && !st->end.at.file) { /* nothing is stored of it */
        st->end.at.file = 1;
        st->jump = st->file > 1 || st->offset;
    }
    st->positions = positions;
    st->end.epoch = st->session->root->engine->origin.epoch;
    st->end.state = st->end.state == END_EXPIRED ? END_PROVED : st->end.state;
    struct record_stream record = stream_record(st);
    if (st->id && !record_append_stream(st->session->root->journal, &record)) {
        st->positions = before.positions;
        st->jump = before.jump;
        st->end = before.end;
        return false;
    }
    return true;
}

/* Numbers of batches and files only rise. */
bool position_is_behind(const struct stream *a, const struct stream *b)
{
    return a->sequence != b->sequence ? a->sequence < b->sequence
           : a->file != b->file       ? a->file < b->file
                                      : a->offset < b->offset;
}

void position_restore(struct stream *st, const struct record_stream *record)
{
    stream_set_number(st, record->stream);
    st->kind = record->kind;
    st->file = st->journal_file = record->file ? record->file : 1;
    st->offset = record->offset;
    st->head = record->head;
    st->mark = record->mark;
    st->layout = record->layout;
    st->sequence = record->sequence;
    st->lines = record->lines;
    st->refused_lines = record->refused_lines;
    st->keep = record->marks & MARK_KEEP;
    st->gap = record->marks & MARK_GAP;
    st->lost = record->marks & MARK_LOST;
    st->lost_after = record->marks & MARK_LOST_AFTER;
    st->end = record->at;
    st->positions = record->marks & MARK_POSITIONS;
    st->jump = record->marks & MARK_JUMP;
    st->delivered = record->marks & MARK_DELIVERED;
    st->voided = record->at.state == END_DISPUTED || record->at.state == END_LONGER ||
                 record->at.state == END_PARTING;
    st->unproved = st->voided || record->at.state == END_UNPROVED ||
                   record->at.state == END_BELIEVED;
    st->ended_file = record->marks & MARK_ENDED ? st->file : 0;
}

void position_begin_at(struct stream *st, uint32_t file, uint64_t offset, uint64_t head)
{
    st->file = file;
    st->offset = offset;
    st->head = head;
    st->seal_read_ms = 0;
    st->mark = (struct record_mark){0};
    st->known = (struct file_known){0};
    st->jump_measured = false;
    st->jump_crc = 0;
}

void position_next_file(struct stream *st, uint64_t head)
{
    position_begin_at(st, st->file + 1, 0, head);
}

void position_rewind(struct stream *st)
{
    position_begin_at(st, 1, 0, 0);
    st->lost_after = position_lost_after(st);
    st->end = st->lost_after ? (struct record_end){.top_file = st->end.top_file,
                                                   .top_offset = st->end.top_offset}
                             : (struct record_end){0};
    st->unproved = st->jump = false;
    st->journal_file = 0; /* so that nothing is deleted before it was sent again */
    st->lines = st->refused_lines = 0;
    st->ended_file = 0;
    st->lost = st->delivered = false;
}

void position_again(struct stream *st)
{
    if (!stream_falls_short(st)) {
        st->reached_file = st->file;
        st->reached_offset = st->offset;
    }
    position_rewind(st);
    st->positions = false;
    st->sequence = 0;
}
