/* SPDX-License-Identifier: Apache-2.0 */
/* Runs checksums over the files up to the place that the backend named: from the settled
 * end where that lies before it, else from the first file; where files are gone, or were
 * lost, over its own file alone. */
#include "upload/lifecycle/end_proof.h"

#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/crc32c_combine.h"
#include "upload/core/position.h"
#include "upload/core/session_streams.h"
#include "upload/lifecycle/rewritten.h"
#include "upload/source/file_mark.h"

/* One proof for each stream of a session. */
struct end_proof {
    struct reply_end told;
    enum proof_result result;
    bool check;      /* it is the stream's own end: nothing is settled */
    bool file_only;  /* the run is over the file of the end alone */
    uint32_t file;   /* as far as it got … */
    uint64_t offset; /* … */
    uint32_t crc;    /* … of the stream */
    uint32_t file_crc;
    struct record_mark mark;
    struct stream_whole whole; /* check: of the file */
    struct reply_end line;     /* behind the last line so far */
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
    p->offset = st->end.at.offset;
    p->crc = st->end.at.crc;
    p->file_crc = st->end.file_crc;
    p->line = (struct reply_end){.at = st->end.at, .file_crc = st->end.file_crc};
    p->mark = st->file == p->file ? st->mark : (struct record_mark){0};
}

static void proof_from_first(struct end_proof *p)
{
    p->file = 1;
    p->offset = 0;
    p->crc = p->file_crc = 0;
    p->line = (struct reply_end){0};
    p->mark = (struct record_mark){0};
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
    *p = (struct end_proof){.told = *end, .result = PROOF_GOES_ON};
    if (st->end.at.file && !st->voided && !stream_place_before(&end->at, &st->end.at)) {
        proof_from_settled(p, st);
    } else {
        proof_from_first(p);
    }
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
    bool same = !st->voided && stream_place_is(&p->told.at, &st->end.at);
    if (!p->check &&
        !(same ? proof_confirm(st) : position_adopt(st, &p->told, &p->mark))) {
        return PROOF_WAITS;
    }
    if (!p->check && !same && !p->told.losses) {
        position_note_whole(st);
    }
    *p = (struct end_proof){0};
    return PROOF_EQUAL;
}

/* The run has reached the place. */
static enum proof_result proof_compare(struct stream *st, struct end_proof *p)
{
    bool lossy = p->told.losses || st->end.losses;
    if (p->file_only) {
        bool equal = p->told.at.offset && p->file_crc == p->told.file_crc;
        return equal ? proof_settle(st, p) : PROOF_OTHER;
    }
    if (p->crc == p->told.at.crc && p->file_crc == p->told.file_crc) {
        return proof_settle(st, p);
    }
    if (!lossy) {
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
    if (status != GPUFL_ERR_NOT_FOUND) {
        return PROOF_FAILED;
    }
    if (!p->file_only && p->file < p->told.at.file) {
        proof_from_file(p);
        return PROOF_GOES_ON;
    }
    return p->file_only || p->file == p->told.at.file ? PROOF_GONE : PROOF_SHORTER;
}

static void proof_add(struct end_proof *p, const char *data, size_t len)
{
    uint32_t crc = crc32c(0, data, len);
    p->crc = crc32c_combine(p->crc, crc, len);
    p->file_crc = crc32c_combine(p->file_crc, crc, len);
    p->mark = file_mark_over(p->mark, data, len);
    p->offset += len;
}

static void proof_take(struct end_proof *p, const char *data, size_t len)
{
    const char *newline = len ? memrchr(data, '\n', len) : NULL;
    size_t lines = newline ? (size_t)(newline - data) + 1 : 0;
    proof_add(p, data, lines);
    if (newline) {
        p->line = (struct reply_end){
            .at = {.file = p->file, .offset = p->offset, .crc = p->crc},
            .file_crc = p->file_crc};
    }
    proof_add(p, data + lines, len - lines);
}

static void proof_add_hole(struct end_proof *p, uint64_t len)
{
    static const char zeros[4096]; /* all that a mark covers */
    size_t last = len < sizeof zeros ? (size_t)len : sizeof zeros;
    p->crc = crc32c_zeros(p->crc, len);
    p->file_crc = crc32c_zeros(p->file_crc, len);
    p->mark = file_mark_over(p->mark, zeros, last);
    p->offset += len;
}

static enum proof_result proof_read(struct stream *st, struct end_proof *p)
{
    struct engine *engine = st->session->root->engine;
    struct tail_where where = stream_where(st);
    struct tail_chunk chunk;
    bool last = p->file == p->told.at.file;
    where.file = p->file;
    where.offset = p->offset;
    where.sealed_only = p->file <= stream_newest_sealed(st);
    where.mark = (struct record_mark){0};
    where.known = NULL;
    where.tells_holes = true;
    gpufl_status status = tail_read(engine->config.sys, &where, engine->raw,
                                    engine->config.max_batch_bytes, &chunk);
    if (status == GPUFL_BUSY) {
        return PROOF_GOES_ON;
    }
    if (status == GPUFL_ERR_FORMAT) {
        return PROOF_SHORTER;
    }
    if (status != GPUFL_OK) {
        return proof_problem(p, status, &chunk);
    }
    uint64_t left = last ? p->told.at.offset - p->offset : UINT64_MAX;
    uint64_t there = chunk.len + chunk.hole; /* one of them is 0 */
    uint64_t len = there < left ? there : left;
    engine->made_bytes += chunk.len;
    session_note_compared(st->session, chunk.len);
    if (chunk.hole) {
        proof_add_hole(p, len);
    } else {
        proof_take(p, engine->raw, (size_t)len);
    }
    if (len == there && chunk.at_end && len < left) {
        if (last || !chunk.sealed) {
            return PROOF_SHORTER;
        }
        p->file++;
        p->offset = 0;
        p->file_crc = 0;
        p->mark = (struct record_mark){0};
    }
    return PROOF_GOES_ON;
}

static bool proof_is_there(const struct end_proof *p)
{
    return p->file == p->told.at.file && p->offset == p->told.at.offset;
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

enum proof_result end_proof_step(struct stream *st)
{
    struct end_proof *p = proof_of(st);
    if (!p || p->result == PROOF_NONE) {
        return PROOF_NONE;
    }
    enum proof_result result = proof_of_nothing(p) ? proof_settle(st, p)
                               : proof_is_there(p) ? proof_compare(st, p)
                                                   : proof_read(st, p);
    if (result == PROOF_GONE && proof_was_settled(st, p)) {
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
                                .size = p->offset,
                                .line = p->line,
                                .file_only =
                                    p->file_only || p->told.losses || st->end.losses};
    return true;
}

enum proof_result end_proof_run(struct stream *st, struct proof_run *run, uint64_t to)
{
    struct end_proof p = {.told.at = {.file = run->file, .offset = to},
                          .file = run->file,
                          .offset = run->offset,
                          .file_crc = run->crc,
                          .file_only = true};
    enum proof_result result = proof_is_there(&p) ? PROOF_EQUAL : proof_read(st, &p);
    run->offset = p.offset;
    run->crc = p.file_crc;
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

enum proof_result end_proof_jump(struct stream *st)
{
    struct end_proof *p = proof_make(st);
    if (!p) {
        return PROOF_FAILED;
    }
    if (p->result == PROOF_NONE) {
        *p = (struct end_proof){.told.at = {.file = st->file, .offset = st->offset},
                                .result = PROOF_GOES_ON};
        proof_from_file(p);
    }
    enum proof_result result = proof_is_there(p) ? PROOF_EQUAL : proof_read(st, p);
    st->jump_crc = p->file_crc;
    st->jump_measured = result == PROOF_EQUAL;
    if (result != PROOF_GOES_ON) {
        *p = (struct end_proof){0};
    }
    return result;
}
