/* SPDX-License-Identifier: Apache-2.0 */
/* Runs checksums over the files up to the place that the backend named: from the settled
 * end where that lies before it, else from the first file; where files are gone, or were
 * lost, over its own file alone. */
#include "upload/lifecycle/end_proof.h"

#include <stdlib.h>
#include <string.h>

#include "upload/core/position.h"
#include "upload/core/ranges.h"
#include "upload/core/session_streams.h"
#include "upload/lifecycle/rewritten.h"
#include "upload/lifecycle/shifted_stream.h"
#include "upload/source/file_mark.h"

/* One proof for each stream of a session. */
struct end_proof {
    struct reply_end told;
    enum proof_result result;
    bool check;                /* it is the stream's own end: nothing is settled */
    bool file_only;            /* the run is over the file of the end alone */
    uint32_t file;             /* as far as it got … */
    struct file_run run;       /* … of the stream */
    struct stream_whole whole; /* check: of the file */
    struct reply_end line;     /* behind the last line so far; .lines is of the journal */
    struct shifting_own own;   /* layout of 1.1: the file of the end */
    struct shifting_place in;  /* … or, with a head, the one that is read instead */
};

static struct end_proof *proof_of(const struct stream *st)
{
    const struct session *session = st->session;
    for (unsigned i = 0; session->proof && i < session->streams; i++) {
        if (session->stream[i] == st) {
            return &session->proof[i];
        }
    }
    return NULL;
}

/* Where the stream is settled by its own word. */
static void proof_from_settled(struct end_proof *p, const struct stream *st)
{
    p->file = st->end.at.file;
    p->run = (struct file_run){
        .offset = st->end.at.offset, .crc = st->end.at.crc, .file_crc = st->end.file_crc};
    if (st->file == p->file) {
        p->run.mark = st->mark;
    }
    p->line = (struct reply_end){.at = st->end.at, .file_crc = st->end.file_crc};
}

static void proof_from_first(struct end_proof *p)
{
    p->file = 1;
    p->run = (struct file_run){0};
    p->line = (struct reply_end){0};
}

static void proof_from_file(struct end_proof *p)
{
    proof_from_first(p);
    p->file = p->told.at.file;
    p->file_only = true;
}

static struct end_proof *proof_make(struct stream *st)
{
    struct session *session = st->session;
    if (!session->proof) {
        session->proof = calloc(SCAN_CHANNELS_MAX, sizeof *session->proof);
    }
    return proof_of(st);
}

bool end_proof_begin(struct stream *st, const struct reply_end *end)
{
    struct end_proof *p = proof_make(st);
    if (!p) {
        return false;
    }
    bool settled =
        st->end.at.file && !st->voided && !stream_place_before(&end->at, &st->end.at);
    *p = (struct end_proof){.told = *end, .result = PROOF_GOES_ON, .own = p->own};
    proof_from_first(p);
    if (settled) {
        proof_from_settled(p, st);
    }
    shifted_stream_own_begin(st, end, settled, &p->own);
    return true;
}

bool end_proof_told(const struct stream *st, struct reply_end *out)
{
    const struct end_proof *p = proof_of(st);
    if (p) {
        *out = p->told;
    }
    return p && p->result != PROOF_NONE;
}

void end_proof_drop(struct stream *st)
{
    struct end_proof *p = proof_of(st);
    if (p) {
        p->result = PROOF_NONE;
    }
}

/* It is where it was: what comes next, or was given up, stays as it is. */
static bool proof_confirm(struct stream *st)
{
    st->end.state = stream_is_cut(st) ? st->end.state : (uint8_t)END_PROVED;
    if (!position_choose(st, true)) {
        return false;
    }
    st->unproved = false;
    return true;
}

static enum proof_result proof_settle(struct stream *st, struct end_proof *p)
{
    const struct shifting_walk *walk = &p->own.found;
    const struct file_run *run = walk->at.head ? &walk->run : &p->run;
    struct stream_end own = {.head = walk->at.head, .mark = run->mark, .torn = run->torn};
    bool same = !st->voided && (!own.head || st->head) && stream_ends_at(st, &p->told.at);
    if (!p->check && !p->file_only && !own.head) {
        ranges_release_stored(st, &p->told);
    }
    if (!p->check && !(same ? proof_confirm(st) : position_adopt(st, &p->told, &own))) {
        return PROOF_WAITS;
    }
    if (!p->check) {
        st->rest_lost = !p->file_only && p->told.lost_after;
        position_note_told(st, &p->told, !same);
    }
    if (!p->check && !same && own.head) {
        st->index = (uint8_t)walk->at.index;
        st->known = walk->at.known;
    }
    *p = (struct end_proof){0};
    return PROOF_EQUAL;
}

/* The run has reached the place. */
static enum proof_result proof_compare(struct stream *st, struct end_proof *p)
{
    if (p->file_only) {
        bool equal = p->told.at.offset && p->run.file_crc == p->told.file_crc;
        return equal ? proof_settle(st, p) : PROOF_OTHER;
    }
    if (p->run.crc == p->told.at.crc && p->run.file_crc == p->told.file_crc) {
        return proof_settle(st, p);
    }
    if (!p->told.losses && !st->end.losses) {
        return PROOF_OTHER;
    }
    proof_from_file(p);
    return PROOF_GOES_ON;
}

static enum proof_result proof_problem(struct end_proof *p, gpufl_status status,
                                       const struct tail_chunk *chunk)
{
    if (chunk->elsewhere || chunk->away) {
        return PROOF_AWAY;
    }
    if (status == GPUFL_ERR_FORMAT && p->line.at.lines) {
        proof_from_first(p); /* the disk has less than the journal says: how much? */
        return PROOF_GOES_ON;
    }
    if (status != GPUFL_ERR_NOT_FOUND) {
        return status == GPUFL_ERR_FORMAT ? PROOF_SHORTER : PROOF_FAILED;
    }
    if (!p->file_only && p->file < p->told.at.file) {
        proof_from_file(p);
        return PROOF_GOES_ON;
    }
    return p->file_only || p->file == p->told.at.file ? PROOF_GONE : PROOF_SHORTER;
}

static void proof_take(struct end_proof *p, const char *data, size_t len)
{
    const char *newline = len ? memrchr(data, '\n', len) : NULL;
    size_t lines = newline ? (size_t)(newline - data) + 1 : 0;
    file_run_add(&p->run, data, lines);
    if (newline) {
        p->line = (struct reply_end){
            .at = {.file = p->file, .offset = p->run.offset, .crc = p->run.crc},
            .file_crc = p->run.file_crc};
    }
    file_run_add(&p->run, data + lines, len - lines);
}

/* In the layout of 1.1, a file is known by what was sent of it. */
static struct tail_where proof_where(const struct stream *st, struct end_proof *p)
{
    static const struct record_mark none = {0};
    struct tail_where where = stream_where(st);
    where.file = p->file;
    where.offset = p->run.offset;
    where.tells_holes = true;
    if (p->in.head) {
        where.head = p->in.head;
        where.index = p->in.index;
        where.mark = none;
        where.mark_at = 0;
        where.known = &p->in.known;
    } else if (!shifted_stream_is(st)) {
        where.sealed_only = p->file <= stream_newest_sealed(st);
        where.mark = none;
        where.known = NULL;
    } else if (st->file != p->file) { /* it has gone on to the next one */
        where.head = st->before.head;
        where.mark = st->before.mark;
        where.mark_at = st->before.offset;
        where.known = NULL;
    }
    return where;
}

static enum proof_result proof_read(struct stream *st, struct end_proof *p)
{
    struct engine *engine = st->session->root->engine;
    struct tail_where where = proof_where(st, p);
    struct tail_chunk chunk;
    bool last = p->file == p->told.at.file;
    gpufl_status status = tail_read(engine->config.sys, &where, engine->raw,
                                    engine->config.max_batch_bytes, &chunk);
    if (status != GPUFL_OK) {
        return status == GPUFL_BUSY ? PROOF_GOES_ON : proof_problem(p, status, &chunk);
    }
    uint64_t left = last ? p->told.at.offset - p->run.offset : UINT64_MAX;
    uint64_t there = chunk.len + chunk.hole; /* one of them is 0 */
    uint64_t len = there < left ? there : left;
    engine->made_bytes += chunk.len;
    session_note_compared(st->session, chunk.len);
    if (chunk.hole) {
        file_run_add(&p->run, NULL, len);
    } else {
        proof_take(p, engine->raw, (size_t)len);
    }
    if (len == there && chunk.at_end && len < left) {
        if (last || !chunk.sealed) {
            return PROOF_SHORTER;
        }
        p->file++;
        p->run = (struct file_run){.crc = p->run.crc};
    }
    return PROOF_GOES_ON;
}

static bool proof_is_there(const struct end_proof *p)
{
    return p->file == p->told.at.file && p->run.offset == p->told.at.offset;
}

/* Nothing is stored: that is the beginning of every stream. */
static bool proof_of_nothing(const struct end_proof *p)
{
    return p->told.at.file == 1 && p->told.at.offset == 0 && p->told.at.crc == 0;
}

/* It is no farther than what was proved once: its file was deleted since. */
static bool proof_was_settled(const struct stream *st, const struct end_proof *p)
{
    const struct stream_place top = {.file = st->end.top_file,
                                     .offset = st->end.top_offset};
    return !stream_place_before(&top, &p->told.at);
}

/* If the stream was settled just there, reading shows what is missing. */
static enum proof_result proof_without_file(struct stream *st, struct end_proof *p,
                                            bool several)
{
    const struct shifting_walk *walk = &p->own.walk;
    const struct stream_place end = {.file = walk->file, .offset = walk->run.offset};
    bool believed = st->end.state == END_BELIEVED;
    if (!believed && !st->voided && stream_place_is(&p->told.at, &st->end.at)) {
        p->own.found = (struct shifting_walk){0};
        return proof_settle(st, p);
    }
    p->file = end.file;
    p->run.offset = walk->at.index ? 0 : end.offset;
    return several || believed || !p->own.begins || p->told.losses ? PROOF_GONE
           : stream_place_before(&end, &p->told.at)                ? PROOF_SHORTER
                                                                   : PROOF_OTHER;
}

static enum proof_result proof_shifted(struct stream *st, struct end_proof *p)
{
    enum shifting_owned owned = shifted_stream_own(st, &p->own);
    bool several = owned == SHIFTING_OWN_SEVERAL;
    return owned == SHIFTING_OWN_FOUND             ? proof_settle(st, p)
           : several || owned == SHIFTING_OWN_NONE ? proof_without_file(st, p, several)
           : owned == SHIFTING_OWN_AWAY            ? PROOF_AWAY
           : owned == SHIFTING_OWN_FAILED          ? PROOF_FAILED
                                                   : PROOF_GOES_ON;
}

enum proof_result end_proof_step(struct stream *st)
{
    struct end_proof *p = proof_of(st);
    if (!p || p->result == PROOF_NONE) {
        return PROOF_NONE;
    }
    enum proof_result result = proof_of_nothing(p)     ? proof_settle(st, p)
                               : shifted_stream_is(st) ? proof_shifted(st, p)
                               : proof_is_there(p)     ? proof_compare(st, p)
                                                       : proof_read(st, p);
    if (result == PROOF_GONE && !shifted_stream_is(st) && proof_was_settled(st, p)) {
        result = proof_settle(st, p); /* what follows is missing: reading shows it */
    }
    if (result == PROOF_AWAY) { /* another directory may be the session's by then */
        struct reply_end told = p->told;
        (void)end_proof_begin(st, &told);
        return result;
    }
    p->result = result == PROOF_EQUAL ? PROOF_NONE : result;
    return result;
}

bool end_proof_short(const struct stream *st, struct proof_short *out)
{
    const struct end_proof *p = proof_of(st);
    if (!p || p->result != PROOF_SHORTER) {
        return false;
    }
    *out = (struct proof_short){.file = p->file,
                                .size = p->run.offset,
                                .line = p->line,
                                .file_only =
                                    p->file_only || p->told.losses || st->end.losses};
    return true;
}

enum proof_result end_proof_run(struct stream *st, struct proof_run *run, uint64_t to)
{
    struct end_proof p = {.told.at = {.file = run->file, .offset = to},
                          .file = run->file,
                          .run = {.offset = run->offset, .file_crc = run->crc},
                          .file_only = true};
    if (shifted_stream_is(st) && !shifted_stream_numbered(st, run->file, &p.in)) {
        return PROOF_GONE;
    }
    enum proof_result result = proof_is_there(&p) ? PROOF_EQUAL : proof_read(st, &p);
    run->offset = p.run.offset;
    run->crc = p.run.file_crc;
    return result;
}

enum proof_result end_proof_check(struct stream *st)
{
    struct end_proof *p = proof_make(st);
    if (p && p->result == PROOF_NONE && !st->checked) {
        st->checked = read_whole_is_unchanged(st);
    }
    if (!p || st->end.at.offset == 0 || st->checked) {
        return p ? PROOF_EQUAL : PROOF_FAILED;
    }
    if (shifted_stream_is(st) && st->file != st->end.at.file && !st->before.head) {
        return PROOF_GONE;
    }
    if (p->result == PROOF_NONE) {
        *p = (struct end_proof){.told = {.at = st->end.at, .file_crc = st->end.file_crc},
                                .result = PROOF_GOES_ON,
                                .check = true};
        proof_from_file(p);
        p->whole = read_whole_of_end(st);
    }
    struct stream_whole whole = p->whole;
    enum proof_result result =
        proof_is_there(p) ? proof_compare(st, p) : proof_read(st, p);
    if (result != PROOF_GOES_ON) {
        *p = (struct end_proof){0};
    }
    st->checked = result == PROOF_EQUAL;
    st->whole = st->checked ? whole : st->whole;
    return result;
}

enum proof_result end_proof_jump(struct stream *st, uint64_t to, struct file_run *out)
{
    struct end_proof *p = proof_make(st);
    if (!p) {
        return PROOF_FAILED;
    }
    if (p->result == PROOF_NONE) {
        *p = (struct end_proof){.told.at = {.file = st->file, .offset = to},
                                .result = PROOF_GOES_ON};
        proof_from_file(p);
    }
    enum proof_result result = proof_is_there(p) ? PROOF_EQUAL : proof_read(st, p);
    *out = p->run;
    if (result != PROOF_GOES_ON) {
        *p = (struct end_proof){0};
    }
    return result;
}
