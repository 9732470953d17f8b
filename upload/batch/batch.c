/* SPDX-License-Identifier: Apache-2.0 */
/* Makes batches: reads lines at a stream's position, cuts and encodes them. */
#include "upload/batch/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/log.h"
#include "schema/protocol.h"
#include "upload/batch/line_end.h"
#include "upload/batch/next_file.h"
#include "upload/batch/part.h"
#include "upload/batch/read_problem.h"
#include "upload/core/frames.h"
#include "upload/core/position.h"
#include "upload/core/raw_lines.h"
#include "upload/core/room.h"
#include "upload/core/shutdown.h"
#include "upload/http/encode.h"
#include "upload/lifecycle/rewritten.h"
#include "upload/lifecycle/sealed_file.h"
#include "upload/lifecycle/shifted_stream.h"
#include "upload/source/ndjson.h"

/* Raised when the same input and level would give other bytes than before. */
#define PARAMETER_SET 1u

/* A frame or member. */
struct encoded {
    const void *data;
    size_t len;
};

enum codec batch_codec(const struct engine *engine)
{
    switch (engine->config.compression) {
    case COMPRESS_NONE:
        return CODEC_NONE;
    case COMPRESS_GZIP:
        return CODEC_GZIP;
    case COMPRESS_ZSTD:
        return engine->origin.no_zstd_ever ? CODEC_GZIP : CODEC_ZSTD;
    case COMPRESS_AUTO:
        break;
    }
    return engine->origin.zstd && !engine->origin.no_zstd_ever ? CODEC_ZSTD : CODEC_GZIP;
}

/* Takes memory for \p head and \p body, one behind the other. */
static gpufl_status batch_keep(struct offer *offer, const struct encoded *head,
                               const struct encoded *body)
{
    struct engine *engine = offer->stream->session->root->engine;
    size_t len = head->len + body->len;
    offer->frame = frames_take(engine->frames, len);
    if (!offer->frame) {
        return GPUFL_ERR_NOMEM;
    }
    memcpy(offer->frame, head->data, head->len);
    memcpy((char *)offer->frame + head->len, body->data, body->len);
    offer->frame_len = len;
    engine->frame_bytes += len;
    return GPUFL_OK;
}

gpufl_status batch_encode(struct offer *offer, size_t raw_len)
{
    struct engine *engine = offer->stream->session->root->engine;
    bool is_part = offer->part.begin.file != 0;
    char line[PART_LINE_MAX];
    struct encoded head = {line, 0};
    struct encoded body = {"", 0};
    offer_drop_frame(engine, offer);
    if (is_part && (head.len = part_encode_line(offer, line)) == 0) {
        return GPUFL_ERR_NOMEM;
    }
    gpufl_status status =
        offer->part.skip
            ? GPUFL_OK
            : encoder_encode(engine->encoder, (enum codec)offer->record.codec,
                             engine->raw, raw_len, &body.data, &body.len);
    if (status == GPUFL_OK) {
        status = batch_keep(offer, &head, &body);
    }
    if (status == GPUFL_OK) {
        /* Parts have checksums of what they decode to. */
        offer->crc32 = is_part ? 0 : encode_crc32(0, offer->frame, offer->frame_len);
        raw_lines_shrink(engine);
    }
    return status;
}

gpufl_status batch_reread(struct offer *offer, size_t *raw_len)
{
    struct engine *engine = offer->stream->session->root->engine;
    struct tail_where where = stream_where(offer->stream);
    struct file_known none = {0};
    struct tail_chunk chunk;
    size_t want = (size_t)(offer->record.end - offer->record.begin);
    where.file = offer->record.file; /* may be after the settled one */
    where.sealed_only = offer->record.file <= offer->stream->highest;
    where.offset = offer->record.begin;
    where.head = offer->record.head;
    where.mark = offer->record.mark;
    where.mark_at = offer->record.end;
    where.known = &none;
    if (want > PROTOCOL_MAX_BATCH_BYTES_EVER || !raw_lines_grow(engine, want)) {
        return GPUFL_ERR_NOMEM;
    }
    gpufl_status status =
        tail_read(engine->config.sys, &where, engine->raw, want, &chunk);
    if (status != GPUFL_OK || chunk.len != want) {
        return status == GPUFL_OK ? GPUFL_ERR_FORMAT : status;
    }
    if (offer->record.unterminated) {
        engine->raw[want++] = '\n';
    }
    *raw_len = want;
    return GPUFL_OK;
}

struct record_mark batch_mark(const struct offer *offer, size_t raw_len)
{
    const struct stream *st = offer->stream;
    bool follows = st->file == offer->record.file && st->offset == offer->record.begin;
    return file_mark_over(follows ? st->mark : (struct record_mark){0},
                          st->session->root->engine->raw, raw_len);
}

static enum made batch_post(struct offer *offer, size_t raw_len)
{
    struct engine *engine = offer->stream->session->root->engine;
    if (batch_encode(offer, raw_len) != GPUFL_OK || !offer_journal(offer)) {
        offer_return(engine, offer);
        return MADE_NOTHING;
    }
    return MADE_OFFER;
}

static void batch_describe(struct offer *offer, const struct ndjson_cut *cut)
{
    struct stream *st = offer->stream;
    const struct engine *engine = st->session->root->engine;
    enum codec codec = batch_codec(engine);
    st->seal_read_ms = 0;
    offer->is_shutdown = cut->shutdown_first;
    offer->record.file = st->file;
    offer->record.head = st->head;
    offer->record.begin = st->offset;
    offer->record.mark = batch_mark(offer, cut->bytes);
    offer->record.end = st->offset + cut->bytes;
    offer->record.lines = cut->lines;
    offer->record.codec = (uint8_t)codec;
    offer->record.level = codec == CODEC_ZSTD ? (uint8_t)engine->config.zstd_level : 6;
    offer->record.parameter_set = PARAMETER_SET;
    offer->record.library = encode_library_version(codec);
    if (st->positions) {
        part_measure(offer, cut->bytes);
        read_whole_took(st, cut->bytes);
    }
}

static enum made batch_offer(struct stream *st, const struct ndjson_cut *cut,
                             bool unterminated)
{
    struct engine *engine = st->session->root->engine;
    struct offer *offer = offer_new(st);
    if (!offer) {
        return MADE_NOTHING;
    }
    batch_describe(offer, cut);
    offer->record.unterminated = unterminated;
    size_t raw_len = cut->bytes;
    if (unterminated) {
        engine->raw[raw_len++] = '\n';
    }
    return batch_post(offer, raw_len);
}

static struct record_quarantine batch_unsent(const struct stream *st, uint64_t end,
                                             const char *reason)
{
    struct record_quarantine record = {
        .sequence = st->sequence,
        .file = st->file,
        .begin = st->offset,
        .end = end,
        .lines = 1,
    };
    snprintf(record.reason, sizeof record.reason, "%s", reason);
    return record;
}

/* The backend learns that a line is there that is not sent: its end moves behind it. */
static enum made batch_skip(struct stream *st, const struct record_quarantine *why,
                            uint32_t crc, bool torn)
{
    struct offer *offer = offer_new(st);
    struct record_quarantine *skip = offer ? malloc(sizeof *skip) : NULL;
    if (!skip) {
        if (offer) {
            offer_return(st->session->root->engine, offer);
        }
        return MADE_NOTHING;
    }
    *skip = *why;
    offer->record = (struct record_offer){
        .file = st->file, .begin = st->offset, .end = why->end, .lines = 1};
    if (torn) { /* what is known of it is in memory */
        offer->record.mark = batch_mark(offer, (size_t)(why->end - st->offset));
    }
    offer->part.skip = skip;
    offer->part.torn = torn;
    part_measure_over(offer, crc);
    return batch_post(offer, 0);
}

static enum made batch_quarantine(struct stream *st,
                                  const struct record_quarantine *record)
{
    return room_for_range(st) && position_quarantine(st, record) ? MADE_STEP
                                                                 : MADE_NOTHING;
}

/* A file ends without a newline. If it will not grow, that is half a record from a crash,
 * or a whole one whose newline is missing; the rest of the line changes the file. */
static enum made batch_torn_end(struct stream *st, const struct tail_chunk *chunk)
{
    const char *raw = st->session->root->engine->raw;
    const struct tail_where where = stream_where(st);
    const size_t len = chunk->len;
    st->unfinished = !next_file_is_final(st, chunk);
    if (st->unfinished) {
        return MADE_NOTHING;
    }
    if (next_file_shows_cut(st, &where, chunk)) {
        return read_problem_judge(st, GPUFL_ERR_FORMAT, chunk);
    }
    if (raw_lines_is_record(st->session->root->engine, len)) {
        struct ndjson_cut cut = {
            .bytes = len, .lines = 1, .shutdown_first = ndjson_is_shutdown(raw, len)};
        return batch_offer(st, &cut, true);
    }
    struct record_quarantine record =
        batch_unsent(st, st->offset + len, "torn line at the end of the file");
    if (st->positions) {
        return batch_skip(st, &record, crc32c(0, raw, len), true);
    }
    return batch_quarantine(st, &record);
}

static enum made batch_too_long(struct stream *st, uint64_t searched, uint32_t crc)
{
    uint64_t end;
    if (!line_end_find(st, searched, crc, &end)) {
        return MADE_NOTHING;
    }
    struct record_quarantine record =
        batch_unsent(st, end,
                     end - st->offset > PROTOCOL_MAX_LINE_BYTES
                         ? "line longer than 8 MiB"
                         : "line that takes too long to decompress");
    if (st->positions) {
        return room_for_range(st) ? batch_skip(st, &record, st->search.crc, false)
                                  : MADE_NOTHING;
    }
    return batch_quarantine(st, &record);
}

/* There is no newline within a batch's size, or within what may be decoded for one: a
 * long line. Tries a large buffer; a line longer than that is quarantined once its end is
 * found. */
static enum made batch_long_line(struct stream *st)
{
    struct engine *engine = st->session->root->engine;
    struct tail_where where = stream_where(st);
    struct tail_chunk chunk;
    gpufl_status status = raw_lines_read(engine, &where, &chunk);
    if (status == GPUFL_BUSY) {
        stream_decode_on(st);
    }
    if (status == GPUFL_ERR_FORMAT) { /* a compressed file that is cut off in the line */
        return read_problem_judge(st, status, &chunk);
    }
    if (status != GPUFL_OK) {
        return MADE_NOTHING;
    }
    engine->made_bytes += chunk.len;
    struct ndjson_cut cut = ndjson_cut(
        engine->raw, chunk.len, (struct ndjson_limits){.max_bytes = 1, .max_lines = 1});
    if (cut.lines) {
        return batch_offer(st, &cut, false);
    }
    if (chunk.at_end) {
        return batch_torn_end(st, &chunk);
    }
    return batch_too_long(st, st->offset + chunk.len, crc32c(0, engine->raw, chunk.len));
}

static enum made batch_nothing_whole(struct stream *st, const struct tail_chunk *chunk)
{
    const struct session *session = st->session;
    if (chunk->len == 0) {
        if (chunk->sealed && session->layout == SESSION_LIVE) {
            if (!next_file_is_final(st, chunk)) {
                st->rest = STREAM_PENDING;
                next_file_wait(st);
                return MADE_NOTHING;
            }
            sealed_file_sent(st);
            position_next_file(st, st->head);
            return MADE_STEP;
        }
        if (chunk->index > 0 && session->layout == SESSION_SHIFTING) {
            return shifted_stream_next(st);
        }
        if (chunk->packed && session->layout == SESSION_LIVE &&
            !stream_packed_is_whole(st, st->file, st->offset) && !shutdown_is_last(st)) {
            if (session->root->engine->gz.busy) {
                stream_decode_on(st);
            } else {
                stream_hold(st, HELD_COMPRESSED);
            }
            return MADE_NOTHING;
        }
        st->rest = STREAM_DRAINED;
        return MADE_NOTHING;
    }
    if (!chunk->at_end) {
        enum made made = batch_long_line(st);
        raw_lines_shrink(session->root->engine);
        return made;
    }
    return batch_torn_end(st, chunk);
}

enum made batch_make(struct stream *st)
{
    struct engine *engine = st->session->root->engine;
    struct tail_chunk chunk;
    st->unfinished = false;
    if (!shifted_stream_find(st)) {
        return MADE_NOTHING;
    }
    uint64_t searched = line_end_searched(st);
    if (searched) {
        return batch_too_long(st, searched, st->search.crc);
    }
    struct tail_where where = stream_where(st);
    struct ndjson_limits limits = {.max_bytes = engine->config.max_batch_bytes,
                                   .max_lines = engine->config.max_batch_lines};
    where.damaged = &st->damaged;
    gpufl_status status = tail_read(engine->config.sys, &where, engine->raw,
                                    engine->config.max_batch_bytes, &chunk);
    if (status != GPUFL_OK || read_problem_is_cut(st, &chunk)) {
        return read_problem_judge(st, status, &chunk);
    }
    st->index = (uint8_t)chunk.index;
    st->mark = chunk.mark;
    read_whole_begin(st, &chunk);
    if (st->offset >= st->split_end) {
        st->split_lines = 0;
    } else if (st->split_lines && st->split_lines < limits.max_lines) {
        limits.max_lines = st->split_lines;
    }
    struct ndjson_cut cut = ndjson_cut(engine->raw, chunk.len, limits);
    if (cut.lines == 0) {
        return batch_nothing_whole(st, &chunk);
    }
    if (stream_has_enough(st)) {
        st->enough = true;
        return MADE_NOTHING;
    }
    st->took = chunk.at_end && !chunk.sealed && cut.bytes == chunk.len ? STREAM_TOOK_ALL
                                                                       : STREAM_TOOK_PART;
    if (cut.shutdown_first) {
        bool first_time = !st->at_shutdown;
        st->at_shutdown = true;
        uint64_t now_ms = engine->config.sys->now_ms();
        if (!shutdown_may_go(st, now_ms)) {
            if (engine->gz.busy) {
                st->at_shutdown = !first_time; /* the others are looked at again */
                stream_decode_on(st);
            } else if (session_writer_is_unprobed(st->session)) {
                stream_enqueue(st, true,
                               st->session->last_growth_ms + SESSION_SILENCE_MS);
            }
            return MADE_NOTHING;
        }
        if (first_time) {
            shutdown_release(st, now_ms);
        }
    }
    return batch_offer(st, &cut, false);
}
