/* SPDX-License-Identifier: Apache-2.0 */
/* Runs checksums over the files of a channel, from the first one that is here to the last
 * line. If all files are here, the checksum of all bytes shows whether they are the
 * backend's. Otherwise, or if they are not, each file is compared by itself. */
#include "upload/verify/verify_files.h"

#include <string.h>

#include "base/crc32c.h"
#include "base/crc32c_combine.h"
#include "schema/protocol.h"
#include "upload/source/file_number.h"
#include "upload/source/shifting_own.h"
#include "upload/source/tail.h"

/* A place in a file that may be the end of a line, and the checksums up to it. */
struct spot {
    uint64_t offset;
    uint32_t file_crc;
};

struct run {
    struct verify *v;
    const char *id;
    struct tail_where where; /* of what is read next */
    struct file_known known; /* layout of 1.1: its file */
    const struct reply_end *end;
    uint32_t crc;     /* of all bytes so far */
    struct spot at;   /* of what is read next */
    struct spot line; /* behind the last line of this file */
    uint64_t lines;   /* so far; an end of a file without a newline counts */
    bool by_file;     /* compare each file */
    bool passed;      /* the backend's end was reached, and it is equal, or … */
    uint32_t
        unseen; /* … from this file on, which may have held more, some are not here */
    struct verify_stream *out;
};

static bool run_reaches(const struct run *r, uint64_t len)
{
    return !r->passed && r->where.file == r->end->at.file &&
           r->at.offset + len >= r->end->at.offset;
}

/* Without data, over a hole. */
static uint32_t run_sum(uint32_t crc, const char *data, uint64_t len)
{
    return data ? crc32c(crc, data, (size_t)len) : crc32c_zeros(crc, len);
}

static void run_add(struct run *r, const char *data, uint64_t len)
{
    const char *last = data && len ? memrchr(data, '\n', (size_t)len) : NULL;
    if (last) {
        size_t upto = (size_t)(last + 1 - data);
        r->line = (struct spot){r->at.offset + upto, crc32c(r->at.file_crc, data, upto)};
    }
    for (const char *p = data; last && p <= last; p++) {
        p = memchr(p, '\n', (size_t)(last + 1 - p));
        r->lines++;
        r->out->behind_lines += r->passed;
    }
    r->crc = run_sum(r->crc, data, len);
    r->at.file_crc = run_sum(r->at.file_crc, data, len);
    r->at.offset += len;
    r->out->behind_bytes += r->passed ? len : 0;
}

/* At the backend's end. */
static bool run_is_equal(const struct run *r)
{
    return r->at.file_crc == r->end->file_crc && (r->by_file || r->crc == r->end->at.crc);
}

static bool run_take(struct run *r, const char *data, uint64_t len)
{
    if (run_reaches(r, len)) {
        uint64_t upto = r->end->at.offset - r->at.offset;
        run_add(r, data, upto);
        if (!run_is_equal(r)) {
            return false;
        }
        r->passed = true;
        data = data ? data + upto : NULL;
        len -= upto;
    }
    run_add(r, data, len);
    return true;
}

static enum verify_result run_differs(struct run *r, enum verify_result result)
{
    r->out->file = r->where.file;
    return result;
}

/* Asks for the last end of a line up to \p offset of this file. */
static gpufl_status run_ask(struct run *r, uint64_t offset, struct reply_place *told)
{
    const struct transport_request request = {.kind = TRANSPORT_PLACE,
                                              .session = r->id,
                                              .channel = r->out->channel,
                                              .file = r->where.file,
                                              .offset = offset,
                                              .fd = -1};
    struct transport_reply reply;
    gpufl_status status = verify_ask(r->v, &request, &reply);
    if (status == GPUFL_OK) {
        reply_read_place(reply.status, reply.body, reply.body_len, told);
    }
    return status;
}

static bool run_is_told(const struct run *r, const struct reply_place *told,
                        const struct spot *at)
{
    return told->what == PLACE_TOLD && told->end.at.file == r->where.file &&
           told->end.at.offset == at->offset && told->end.file_crc == at->file_crc;
}

/* A file that ends here before the backend's end does. Its last line may have no newline,
 * and may be stored nevertheless. VERIFY_RESULTS: it was not asked. */
static enum verify_result run_compare_begin(struct run *r, gpufl_status *status)
{
    struct reply_place told;
    if (r->at.offset == 0) {
        return VERIFY_EQUAL;
    }
    *status = run_ask(r, r->at.offset, &told);
    if (*status != GPUFL_OK) {
        return VERIFY_RESULTS;
    }
    bool equal = run_is_told(r, &told, &r->at) || run_is_told(r, &told, &r->line);
    return equal ? VERIFY_EQUAL : VERIFY_OTHER;
}

/* A sealed file before that of the backend's end: it holds what the backend has of it, no
 * less and no more. A line that was torn is not stored, but a loss. VERIFY_RESULTS: it
 * was not asked. */
static enum verify_result run_compare_whole(struct run *r, gpufl_status *status)
{
    struct reply_place told;
    *status = run_ask(r, PROTOCOL_MAX_OFFSET, &told);
    if (*status != GPUFL_OK) {
        return VERIFY_RESULTS;
    }
    bool equal = run_is_told(r, &told, &r->at) ||
                 (r->end->losses && run_is_told(r, &told, &r->line)) ||
                 (told.what == PLACE_NOTHING && r->at.offset == 0);
    return equal ? VERIFY_EQUAL : VERIFY_OTHER;
}

static enum verify_result run_compare_file(struct run *r, gpufl_status *status)
{
    return r->where.file < r->end->at.file ? run_compare_whole(r, status)
                                           : run_compare_begin(r, status);
}

static bool run_shifts(const struct run *r)
{
    return r->where.layout == SESSION_SHIFTING;
}

static void run_go_to(struct run *r, const struct scan_channel *channel, uint32_t file)
{
    r->where.file = file;
    r->where.offset = 0;
    r->where.sealed_only = r->where.file <= channel->highest;
    r->at = r->line = (struct spot){0};
}

/* The files end. */
static enum verify_result run_at_end(struct run *r, gpufl_status *status)
{
    if (r->passed && !r->out->behind_bytes && r->unseen && !r->out->complete) {
        r->out->file = r->unseen;
        return VERIFY_MISSING;
    }
    if (r->passed) {
        return r->out->behind_bytes ? VERIFY_BEHIND : VERIFY_EQUAL;
    }
    enum verify_result result = run_compare_begin(r, status);
    return run_differs(r, result == VERIFY_EQUAL ? VERIFY_AHEAD : result);
}

/* A sealed file is missing before another one, which is compared by itself. If the
 * backend ends before that, it lacks all of it. */
static enum verify_result run_pass(struct run *r, const struct scan_channel *channel)
{
    const struct scan_files_of files = {.sys = r->v->sys,
                                        .root = r->v->root,
                                        .path = r->where.path,
                                        .channel = r->out->channel};
    if (!r->by_file) {
        return run_differs(r, VERIFY_OTHER);
    }
    uint32_t gone = r->where.file;
    uint32_t next = file_number_next(&files, gone);
    run_go_to(r, channel, next ? next : channel->highest + 1);
    if (!r->unseen && r->where.file > r->end->at.file) {
        r->unseen = gone > r->end->at.file ? gone : r->end->at.file;
        r->passed = true;
    }
    return VERIFY_RESULTS;
}

static void run_begin_shifted(struct run *r, const struct shifting_place *place)
{
    r->where.head = place->head;
    r->where.index = place->index;
    r->known = place->known;
    r->where.known = &r->known;
}

/* Of the layout of 1.1, the next newer file, which has no number of its own. */
static enum verify_result
run_next_shifted(struct run *r, const struct scan_channel *channel, gpufl_status *status)
{
    struct shifting_place place;
    r->where.offset = r->at.offset;
    switch (shifting_next(r->v->sys, &r->where, &place)) {
    case GPUFL_OK:
        run_go_to(r, channel, r->where.file + place.skipped + 1);
        run_begin_shifted(r, &place);
        return VERIFY_RESULTS;
    case GPUFL_ERR_NOT_FOUND:
        return run_at_end(r, status);
    default:
        return run_differs(r, VERIFY_UNREADABLE);
    }
}

/* What a sealed file held that is empty, or the first one before its begin, is nowhere,
 * unless the backend has it, or knows of a loss. */
static void run_note_cut(struct run *r, const struct tail_chunk *chunk)
{
    bool known = r->end->losses && r->where.file < r->end->at.file;
    bool cut = tail_is_emptied(&r->where, chunk) ||
               tail_is_beheaded(&r->where, r->v->buf, chunk);
    if (cut && !known && !r->unseen) {
        r->unseen = r->where.file;
    }
}

/* \return VERIFY_RESULTS to go on, if *status is GPUFL_OK. */
static enum verify_result run_step(struct run *r, const struct scan_channel *channel,
                                   gpufl_status *status)
{
    struct tail_chunk chunk;
    r->where.offset = r->at.offset;
    gpufl_status read =
        tail_read(r->v->sys, &r->where, r->v->buf, VERIFY_BUFFER_BYTES, &chunk);
    bool first = r->where.file == r->out->first_file;
    bool missing =
        read == GPUFL_ERR_NOT_FOUND && r->at.offset == 0 && !first && !run_shifts(r);
    if (missing && r->where.file <= channel->highest) {
        return run_pass(r, channel);
    }
    if (missing) {
        r->where.file--; /* for messages */
        return run_at_end(r, status);
    }
    if (read != GPUFL_OK) {
        return run_differs(r, chunk.excessive ? VERIFY_EXCESSIVE : VERIFY_UNREADABLE);
    }
    r->v->read_bytes += chunk.len;
    run_note_cut(r, &chunk);
    bool whole =
        chunk.hole ? run_take(r, NULL, chunk.hole) : run_take(r, r->v->buf, chunk.len);
    if (!whole) {
        return run_differs(r, VERIFY_OTHER);
    }
    r->out->here = (struct stream_place){
        .file = r->where.file, .offset = r->at.offset, .lines = r->lines, .crc = r->crc};
    if (!chunk.at_end) {
        return VERIFY_RESULTS;
    }
    r->lines += r->at.offset != r->line.offset && (r->passed || chunk.sealed);
    r->out->here.lines = r->lines;
    if (!chunk.sealed) {
        return run_at_end(r, status);
    }
    if (run_shifts(r) && r->where.file >= r->end->at.file) {
        return run_next_shifted(r, channel, status); /* it may be the last one */
    }
    bool compares = r->by_file && !r->passed;
    enum verify_result result = compares ? run_compare_file(r, status) : VERIFY_EQUAL;
    if (result == VERIFY_EQUAL && !r->passed && r->where.file >= r->end->at.file) {
        result = VERIFY_AHEAD;
    }
    if (result != VERIFY_EQUAL) {
        return run_differs(r, result);
    }
    if (run_shifts(r)) {
        return run_next_shifted(r, channel, status);
    }
    run_go_to(r, channel, r->where.file + 1);
    return VERIFY_RESULTS;
}

static enum verify_result run_files(struct verify *v, const struct selected *selected,
                                    const struct scan_channel *channel, bool by_file,
                                    struct verify_stream *out, gpufl_status *status)
{
    bool shifts = out->layout == SESSION_SHIFTING;
    struct shifting_place place;
    struct run r = {.v = v,
                    .id = selected->id,
                    .where = {.root = v->root,
                              .path = selected->path,
                              .channel = out->channel,
                              .layout = out->layout,
                              .file = out->first_file,
                              .sealed_only = out->first_file <= channel->highest,
                              .any_number = true,
                              .tells_holes = true,
                              .cache = &v->gz},
                    .end = &out->backend,
                    .by_file = by_file,
                    .out = out};
    enum verify_result result;
    out->behind_lines = out->behind_bytes = 0;
    if (shifts &&
        shifting_first(v->sys, &r.where, channel->highest, &place) != GPUFL_OK) {
        return run_differs(&r, VERIFY_UNREADABLE);
    }
    if (shifts) {
        run_begin_shifted(&r, &place);
    }
    r.unseen = out->backend.at.file < out->first_file ? out->backend.at.file : 0;
    r.passed = r.unseen ||
               (out->backend.at.file == out->first_file && out->backend.at.offset == 0);
    do {
        result = run_step(&r, channel, status);
    } while (result == VERIFY_RESULTS && *status == GPUFL_OK);
    return result;
}

/* Of the layout of 1.1, the numbers that its files have at the backend: the one in which
 * the stream ends there tells that of the oldest one. */
static void verify_number_shifted(struct verify *v, const struct selected *selected,
                                  const struct scan_channel *channel,
                                  struct verify_stream *out)
{
    const struct tail_where where = {.root = v->root,
                                     .path = selected->path,
                                     .channel = out->channel,
                                     .layout = SESSION_SHIFTING,
                                     .cache = &v->gz};
    const struct reply_end *end = &out->backend;
    struct shifting_own own = {.wanted = {.offset = end->at.offset,
                                          .crc = end->at.crc,
                                          .file_crc = end->file_crc,
                                          .in_order = !end->losses}};
    enum shifting_owned owned;
    do {
        owned = shifting_own_step(v->sys, &where, channel->highest, v->buf,
                                  VERIFY_BUFFER_BYTES, &own);
    } while (owned == SHIFTING_OWN_GOES_ON);
    if (owned == SHIFTING_OWN_FOUND && own.found.file <= end->at.file) {
        out->first_file = end->at.file - own.found.file + 1;
    }
}

gpufl_status verify_files(struct verify *v, const struct selected *selected,
                          const struct scan_channel *channel, struct verify_stream *out)
{
    gpufl_status status = GPUFL_OK;
    bool shifts = out->layout == SESSION_SHIFTING;
    out->first_file = shifts            ? 1
                      : channel->lowest ? channel->lowest
                                        : channel->highest + 1;
    bool whole = out->first_file == 1 && !out->backend.losses;
    if (whole) {
        out->result = run_files(v, selected, channel, false, out, &status);
    }
    bool again = !whole || out->result == VERIFY_OTHER || out->result == VERIFY_AHEAD;
    if (again && shifts) {
        verify_number_shifted(v, selected, channel, out);
    }
    if (status == GPUFL_OK && again) { /* finds the file that differs */
        out->result = run_files(v, selected, channel, true, out, &status);
    }
    const struct reply_end *end = &out->backend;
    if (out->result == VERIFY_EQUAL && (end->losses || end->skips || end->lost_after)) {
        out->result = VERIFY_LOSSY;
    }
    return status;
}
