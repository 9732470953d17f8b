/* SPDX-License-Identifier: Apache-2.0 */
/* Where own files end before the end that was told, one question shows whether the
 * backend has the same up to there. Where the bytes differ, and a person said to go on
 * where they part, that place is searched for in the file of the end by bisection: each
 * answer is an end of a line, with the checksum of the file up to there. */
#include "upload/lifecycle/end_parting.h"

#include <stdlib.h>

#include "base/log.h"
#include "upload/core/position.h"
#include "upload/core/session_streams.h"
#include "upload/lifecycle/end_proof.h"
#include "upload/lifecycle/missing.h"
#include "upload/lifecycle/returned.h"
#include "upload/lifecycle/shifted_stream.h"
#include "upload/source/file_number.h"

/* One search for each session at a time. */
struct end_parting {
    struct stream *stream; /* NULL = none */
    struct reply_end told;
    struct proof_short own;
    bool cut;      /* only the end of own files is compared */
    bool begun;    /* something was answered */
    bool asked;    /* the question for `at` is under way */
    bool answered; /* `there` is to be compared */
    uint64_t at;
    struct reply_end there;
    struct proof_run same; /* up to here, the bytes are the same */
    struct proof_run run;  /* from there on the way to `there` */
    uint64_t low, high;    /* they part behind low, and not behind high */
};

static struct end_parting *parting_of(const struct stream *st)
{
    struct end_parting *p = st->session->parting;
    return p && p->stream == st ? p : NULL;
}

static struct end_parting *parting_make(struct stream *st)
{
    struct session *session = st->session;
    if (!session->parting) {
        session->parting = calloc(1, sizeof *session->parting);
    }
    struct end_parting *p = session->parting;
    if (p && (!p->stream || p->stream == st)) {
        *p = (struct end_parting){.stream = st};
        return p;
    }
    return NULL;
}

void end_parting_drop(struct stream *st)
{
    struct end_parting *p = parting_of(st);
    if (p) {
        *p = (struct end_parting){0};
    }
}

/* The stream is settled at the end that was told. Own files have less. */
static enum parting_result parting_settle_cut(struct stream *st,
                                              const struct reply_end *told, uint64_t size,
                                              enum end_state state)
{
    bool same = stream_place_is(&told->at, &st->end.at) && st->file == told->at.file &&
                st->offset == told->at.offset;
    const struct stream_end of = {.head = st->head, .mark = st->mark};
    const struct stream_end own = same ? of : (struct stream_end){0};
    if (!position_adopt(st, told, &own) || !position_note_end(st, state)) {
        return PARTING_WAITS;
    }
    position_note_told(st, told, false);
    st->cut_at = size + 1;
    st->asked_for = HELD_NOT;
    if (!missing_behind_cut(st)) { /* else the next inspection holds it */
        log_warn(
            st->session->root->engine->config.log, "session.cut",
            "session=%s channel=%s file=%u bytes=%llu note=\"its files end before what "
            "was sent of them: the backend has the rest\"",
            st->session->id, stream_channel(st), told->at.file, (unsigned long long)size);
    }
    return PARTING_CUT;
}

/* Own files have other lines in an earlier file, or have nothing more: a person gave up
 * the rest. */
static enum parting_result parting_give_up_rest(struct stream *st,
                                                const struct reply_end *told,
                                                uint64_t size, enum end_state state)
{
    bool before = st->lost;
    st->lost = before || state == END_CUT || !st->delivered;
    enum parting_result result = parting_settle_cut(st, told, size, state);
    st->lost = result == PARTING_CUT ? st->lost : before;
    return result;
}

/* The backend has all of own files, and more. A disk loses the end of the newest file,
 * without anybody; else a person has to say that there is no more, as of a copy of a
 * session that was not complete. */
static enum parting_result parting_earlier(struct stream *st,
                                           const struct reply_end *told,
                                           const struct proof_short *own)
{
    enum end_state state = (enum end_state)st->end.state;
    if (state == END_PARTING || state == END_COPY) {
        return parting_give_up_rest(st, told, own->size, END_COPY);
    }
    bool of_newest = own->file == told->at.file && own->line.at.file == told->at.file &&
                     own->line.at.offset && (st->delivered || !st->session->is_copy);
    return of_newest ? parting_settle_cut(st, told, own->size, END_CUT) : PARTING_EARLIER;
}

/* The journal had settled just this end in a file that is sealed now. Where its seal was
 * lost, no other one follows. */
static bool parting_in_sealed(const struct stream *st, const struct reply_end *told)
{
    return stream_place_is(&told->at, &st->end.at) &&
           st->end.at.file <= stream_newest_sealed(st) && !shifted_stream_is(st);
}

/* It was settled up to its sealed end, or was cut when it was the newest one: what its
 * disk lost is at the backend. What its writer appended there may be nowhere, or told. */
static bool parting_all_was_settled(const struct stream *st)
{
    const struct stream_place *end = &st->end.at;
    return st->file > end->file || st->end.state == END_CUT ||
           (st->sealed.file == end->file && st->sealed.bytes == end->offset) ||
           missing_told_in(st, end->file);
}

static enum parting_result parting_ask(struct stream *st, const struct reply_end *told,
                                       const struct proof_short *own, bool cut)
{
    struct end_parting *p = parting_make(st);
    if (!p) {
        return PARTING_TURN;
    }
    p->told = *told;
    p->own = *own;
    p->cut = cut;
    p->same.file = cut ? own->line.at.file : told->at.file;
    p->high = cut ? own->line.at.offset : own->file ? own->size : told->at.offset;
    end_proof_drop(st);
    return PARTING_GOES_ON;
}

enum parting_result end_parting_begin(struct stream *st, bool shorter)
{
    bool person = st->end.state == END_PARTING;
    struct reply_end told;
    struct proof_short own = {0};
    if (!end_proof_told(st, &told) || (shorter && !end_proof_short(st, &own))) {
        return PARTING_FAILED;
    }
    if (!shorter) {
        return person ? parting_ask(st, &told, &own, false) : PARTING_OTHER;
    }
    if (parting_in_sealed(st, &told)) {
        bool lines = own.line.at.file == told.at.file && own.line.at.offset &&
                     !stream_place_is(&own.line.at, &told.at);
        if (lines || parting_all_was_settled(st)) {
            return lines ? parting_ask(st, &told, &own, true) : PARTING_PASSES;
        }
    }
    bool over = session_writer_is_gone(st->session) || stream_may_be_earlier_copy(st) ||
                (person && stream_is_earlier_copy(st));
    if (over && own.file > stream_newest_sealed(st)) {
        return own.line.at.offset ? parting_ask(st, &told, &own, true)
                                  : parting_earlier(st, &told, &own);
    }
    return person && own.file == told.at.file ? parting_ask(st, &told, &own, false)
                                              : PARTING_LONGER;
}

/* Whether the backend has just the lines that own files have. */
static enum parting_result parting_compare_end(struct stream *st,
                                               const struct end_parting *p)
{
    const struct reply_end *line = &p->own.line;
    const struct reply_end told = p->told;
    const struct proof_short own = p->own;
    bool same = p->there.at.offset == line->at.offset &&
                p->there.at.file == line->at.file &&
                p->there.file_crc == line->file_crc &&
                (own.file_only || p->there.at.crc == line->at.crc);
    bool person = st->end.state == END_PARTING;
    bool sealed = parting_in_sealed(st, &told);
    bool lacks = sealed && !parting_all_was_settled(st);
    bool parts = (!same || lacks) && person && own.file == told.at.file;
    if (!same && sealed && st->asked_for == HELD_SHORTER) {
        st->asked_for = HELD_NOT; /* it is another one, of which the rest can be sent */
    }
    enum parting_result result = parts            ? PARTING_GOES_ON
                                 : same && lacks  ? PARTING_LONGER
                                 : same && sealed ? PARTING_PASSES
                                 : same           ? parting_earlier(st, &told, &own)
                                 : person
                                     ? parting_give_up_rest(st, &told, own.size, END_CUT)
                                     : PARTING_OTHER;
    if (result != PARTING_WAITS) {
        end_parting_drop(st);
    }
    return parts ? parting_ask(st, &told, &own, false) : result;
}

static enum parting_result parting_compare(struct stream *st, struct end_parting *p)
{
    if (p->cut) {
        return parting_compare_end(st, p);
    }
    enum proof_result result = end_proof_run(st, &p->run, p->there.at.offset);
    if (result == PROOF_GOES_ON) {
        return PARTING_GOES_ON;
    }
    if (result != PROOF_EQUAL && result != PROOF_SHORTER) {
        end_parting_drop(st);
        return result == PROOF_AWAY   ? PARTING_AWAY
               : result == PROOF_GONE ? PARTING_GONE
                                      : PARTING_FAILED;
    }
    if (result == PROOF_EQUAL && p->run.crc == p->there.file_crc) {
        p->same = p->run;
        p->low = p->at; /* no line ends in between */
    } else {
        p->high = result == PROOF_EQUAL ? p->there.at.offset - 1 : p->run.offset;
    }
    p->answered = false;
    return PARTING_GOES_ON;
}

/* The bytes of the file are the same up to the told end if those before it were others.
 */
static enum parting_result parting_go_on(struct stream *st, struct end_parting *p)
{
    struct reply_end told = p->told;
    uint64_t offset = p->same.offset;
    struct shifting_place place = {0};
    if (shifted_stream_is(st) && !shifted_stream_numbered(st, told.at.file, &place)) {
        end_parting_drop(st);
        return PARTING_GONE;
    }
    const struct stream_end own = {.head = place.head, .offset = offset};
    /* An active file with nothing of what the journal knows is a later one: the first may
     * come back, sealed, under its number. */
    bool later = !offset && !own.head && told.at.file > st->highest &&
                 stream_place_is(&told.at, &st->end.at);
    if (!position_part_at(st, &told, told.at.file + later, &own)) {
        return PARTING_WAITS;
    }
    log_warn(st->session->root->engine->config.log, "session.parted",
             "session=%s channel=%s file=%u offset=%llu end=%llu note=\"the backend has "
             "other bytes from here on: those of the file are sent\"",
             st->session->id, stream_channel(st), told.at.file,
             (unsigned long long)offset, (unsigned long long)told.at.offset);
    end_parting_drop(st);
    return PARTING_THERE;
}

enum parting_result end_parting_step(struct stream *st, struct stream_place *place)
{
    struct end_parting *p = parting_of(st);
    if (!p) {
        return PARTING_NONE;
    }
    if (p->answered) {
        return parting_compare(st, p);
    }
    if (!p->cut && p->high <= p->low) {
        return parting_go_on(st, p);
    }
    /* Half of what is left; but the first question is for all of it. */
    p->at = p->begun ? p->low + (p->high - p->low + 1) / 2 : p->high;
    *place = (struct stream_place){.file = p->same.file, .offset = p->at};
    return PARTING_ASKS;
}

void end_parting_asked(struct stream *st)
{
    struct end_parting *p = parting_of(st);
    if (p) {
        p->asked = true;
    }
}

struct stream *end_parting_asks(const struct session *session)
{
    return session->parting && session->parting->asked ? session->parting->stream : NULL;
}

void end_parting_told(struct stream *st, const struct reply_place *told)
{
    struct end_parting *p = parting_of(st);
    if (!p) {
        return;
    }
    p->asked = false;
    if (told->what == PLACE_UNREADABLE) {
        return;
    }
    bool line = told->what == PLACE_TOLD && told->end.at.file == p->same.file &&
                told->end.at.offset > p->same.offset && told->end.at.offset <= p->at;
    p->begun = true;
    p->run = p->same;
    p->there = line ? told->end : (struct reply_end){0};
    p->answered = line || p->cut;
    p->low = p->answered ? p->low : p->at; /* no line ends in between */
}

static bool parting_believed_can_be_read(const struct stream *st)
{
    char byte;
    struct tail_chunk chunk;
    struct tail_where where = stream_where(st);
    gpufl_status status =
        tail_read(st->session->root->engine->config.sys, &where, &byte, 1, &chunk);
    bool shorter = status == GPUFL_ERR_FORMAT && where.layout == SESSION_SHIFTING;
    return status != GPUFL_ERR_NOT_FOUND && status != GPUFL_ERR_IO && !shorter;
}

static uint32_t parting_believed_next_file(const struct stream *st)
{
    struct scan_files_of files = {.sys = st->session->root->engine->config.sys,
                                  .root = st->session->root->fd,
                                  .path = st->session->path,
                                  .channel = stream_channel(st)};
    uint32_t next = file_number_next(&files, st->file);
    return next ? next : st->file <= st->highest ? st->highest + 1 : 0;
}

/* What is left of the file of its end is given up. */
static bool parting_believed_pass(struct stream *st)
{
    uint32_t file = st->file;
    uint32_t next = parting_believed_next_file(st);
    struct record_settled settled = {
        .sequence = st->sequence,
        .file = next ? next : file,
        .end = next ? 0 : st->offset,
        .how = (uint8_t)(next ? SETTLED_GIVEN_UP : SETTLED_ENDED)};
    bool passed = position_advance(st, &settled);
    if (passed && next) {
        returned_give_up(st, file, next - 1);
    }
    return passed;
}

/* The file with the next number follows, or the oldest one where numbers tell nothing. */
static bool parting_believed_shifted(struct stream *st)
{
    const struct sys *sys = st->session->root->engine->config.sys;
    const struct tail_where where = stream_where(st);
    struct record_settled settled = {.sequence = st->sequence,
                                     .file = st->file,
                                     .end = st->offset,
                                     .head = st->head,
                                     .how = SETTLED_ENDED};
    struct shifting_place next;
    bool any = shifted_stream_numbered(st, st->file + 1, &next) ||
               (shifting_first(sys, &where, st->highest, &next) == GPUFL_OK &&
                !next.begins && !st->head);
    if (any) {
        settled.file++;
        settled.end = 0;
        settled.head = next.head;
        settled.how = SETTLED_GIVEN_UP;
    }
    return position_advance(st, &settled);
}

bool end_parting_believe(struct stream *st)
{
    struct reply_end told;
    struct stream_end own = {0};
    struct shifting_place place;
    if (!end_proof_told(st, &told)) {
        return false;
    }
    bool shifts = shifted_stream_is(st);
    if (shifts && shifted_stream_numbered(st, told.at.file, &place)) {
        own.head = place.head;
    }
    if (!position_adopt(st, &told, &own)) {
        return false;
    }
    end_proof_drop(st);
    st->asked_for = HELD_NOT;
    log_warn(
        st->session->root->engine->config.log, "session.believed",
        "session=%s channel=%s file=%u offset=%llu note=\"the backend has lines up to "
        "there, and nothing here proves it: the channel goes on behind them\"",
        st->session->id, stream_channel(st), told.at.file,
        (unsigned long long)told.at.offset);
    return (parting_believed_can_be_read(st) && (own.head || !shifts)) ||
           (shifts ? parting_believed_shifted(st) : parting_believed_pass(st));
}
