/* SPDX-License-Identifier: Apache-2.0 */
/* Makes batches: reads lines at a stream's position, cuts and encodes them. */
#include "upload/engine/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "base/log.h"
#include "schema/protocol.h"
#include "schema/records.h"
#include "upload/core/frames.h"
#include "upload/core/position.h"
#include "upload/core/shutdown.h"
#include "upload/engine/line_end.h"
#include "upload/engine/next_file.h"
#include "upload/http/encode.h"
#include "upload/lifecycle/sealed_file.h"
#include "upload/lifecycle/shifted_stream.h"
#include "upload/source/ndjson.h"

/* Raised when the same input and level would give other bytes than before. */
#define PARAMETER_SET  1u
#define LINE_MAX_DEPTH 64

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

static bool batch_grow_raw(struct engine *engine, size_t cap)
{
    if (engine->raw_cap >= cap) {
        return true;
    }
    char *raw = realloc(engine->raw, cap + 1); /* one more for an added newline */
    if (!raw) {
        return false;
    }
    engine->raw = raw;
    engine->raw_cap = cap;
    return true;
}

/* Shrinks the buffer again after a long line, or a batch of a run with larger ones. */
static void batch_shrink_raw(struct engine *engine)
{
    size_t cap = engine->config.max_batch_bytes;
    char *raw = engine->raw_cap > cap ? realloc(engine->raw, cap + 1) : NULL;
    if (raw) {
        engine->raw = raw;
        engine->raw_cap = cap;
    }
}

gpufl_status batch_encode(struct offer *offer, size_t raw_len)
{
    struct engine *engine = offer->stream->session->root->engine;
    const void *encoded;
    size_t len;
    offer_drop_frame(engine, offer);
    gpufl_status status = encoder_encode(engine->encoder, (enum codec)offer->record.codec,
                                         engine->raw, raw_len, &encoded, &len);
    if (status != GPUFL_OK) {
        return status;
    }
    offer->frame = frames_take(engine->frames, len);
    if (!offer->frame) {
        return GPUFL_ERR_NOMEM;
    }
    memcpy(offer->frame, encoded, len);
    offer->frame_len = len;
    offer->crc32 = encode_crc32(0, offer->frame, len);
    engine->frame_bytes += len;
    batch_shrink_raw(engine);
    return GPUFL_OK;
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
    if (want > PROTOCOL_MAX_BATCH_BYTES_EVER || !batch_grow_raw(engine, want)) {
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

static enum made batch_offer(struct stream *st, const struct ndjson_cut *cut,
                             bool unterminated)
{
    struct engine *engine = st->session->root->engine;
    struct offer *offer = offer_new(st);
    if (!offer) {
        return MADE_NOTHING;
    }
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
    offer->record.unterminated = unterminated;
    size_t raw_len = cut->bytes;
    if (unterminated) {
        engine->raw[raw_len++] = '\n';
    }
    if (batch_encode(offer, raw_len) != GPUFL_OK || !offer_journal(offer)) {
        offer_free(engine, offer);
        return MADE_NOTHING;
    }
    return MADE_OFFER;
}

static enum made batch_quarantine(struct stream *st, uint64_t end, uint32_t lines,
                                  const char *reason)
{
    struct record_quarantine record = {
        .sequence = st->sequence,
        .file = st->file,
        .begin = st->offset,
        .end = end,
        .lines = lines,
    };
    snprintf(record.reason, sizeof record.reason, "%s", reason);
    return position_quarantine(st, &record) ? MADE_STEP : MADE_NOTHING;
}

/* A file that will not grow ends without a newline: half a record from a crash, or a
 * whole one whose newline is missing. */
static enum made batch_torn_end(struct stream *st, size_t len)
{
    const char *raw = st->session->root->engine->raw;
    if (json_is_object(raw, len, LINE_MAX_DEPTH)) {
        struct ndjson_cut cut = {
            .bytes = len, .lines = 1, .shutdown_first = ndjson_is_shutdown(raw, len)};
        return batch_offer(st, &cut, true);
    }
    return batch_quarantine(st, st->offset + len, 1, "torn line at the end of the file");
}

static enum made batch_too_long(struct stream *st, uint64_t searched)
{
    uint64_t end;
    return line_end_find(st, searched, &end)
               ? batch_quarantine(st, end, 1, "line longer than 8 MiB")
               : MADE_NOTHING;
}

/* There is no newline within a batch's size: one long line. Tries a large buffer; a line
 * longer than that is quarantined once its end is found. */
static enum made batch_long_line(struct stream *st, bool final)
{
    struct engine *engine = st->session->root->engine;
    struct tail_where where = stream_where(st);
    struct tail_chunk chunk;
    if (!batch_grow_raw(engine, PROTOCOL_MAX_LINE_BYTES) ||
        tail_read(engine->config.sys, &where, engine->raw, engine->raw_cap, &chunk) !=
            GPUFL_OK) {
        return MADE_NOTHING;
    }
    engine->made_bytes += chunk.len;
    struct ndjson_cut cut = ndjson_cut(
        engine->raw, chunk.len, (struct ndjson_limits){.max_bytes = 1, .max_lines = 1});
    if (cut.lines) {
        return batch_offer(st, &cut, false);
    }
    if (chunk.at_end) {
        return final ? batch_torn_end(st, chunk.len) : MADE_NOTHING;
    }
    return batch_too_long(st, st->offset + chunk.len);
}

static enum made batch_nothing_whole(struct stream *st, const struct tail_chunk *chunk)
{
    const struct session *session = st->session;
    bool final = chunk->sealed || session_writer_is_gone(session);
    if (chunk->len == 0) {
        if (chunk->sealed && session->layout == SESSION_LIVE) {
            if (!next_file_may_begin(st)) {
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
        if (chunk->packed && session->layout == SESSION_LIVE && !shutdown_is_last(st)) {
            stream_hold(st, HELD_COMPRESSED);
            return MADE_NOTHING;
        }
        st->rest = STREAM_DRAINED;
        return MADE_NOTHING;
    }
    if (!chunk->at_end) {
        enum made made = batch_long_line(st, final);
        batch_shrink_raw(session->root->engine);
        return made;
    }
    return final ? batch_torn_end(st, chunk->len) : MADE_NOTHING;
}

/* Its first files are gone: lost, or delivered and deleted by an uploader with another
 * journal. What is there is sent; the session is not reported complete. */
static bool batch_begins_later(struct stream *st)
{
    const struct session *session = st->session;
    struct engine *engine = session->root->engine;
    bool begun = st->id && !stream_begins_again(st);
    if (session->layout != SESSION_LIVE || begun || st->file >= st->lowest) {
        return false;
    }
    position_begin_at(st, st->lowest, st->offset, st->head);
    st->gap = true;
    struct record_stream record = stream_record(st);
    if (st->id && !record_append_stream(session->root->journal, &record)) {
        return false;
    }
    trouble_say(&engine->trouble,
                "session %s, channel %s starts at file %u: earlier files are missing",
                session->id, stream_channel(st), st->file);
    return true;
}

/* The active file does not begin the channel, and nothing was sent of it yet. */
static bool batch_begins_in_the_middle(struct stream *st)
{
    struct engine *engine = st->session->root->engine;
    if (st->id || st->file > 1 || st->offset) {
        return false;
    }
    st->gap = true;
    trouble_say(&engine->trouble,
                "session %s, channel %s does not start with its " RECORD_JOB_START
                " record: earlier files are missing",
                st->session->id, stream_channel(st));
    log_warn(engine->config.log, "session.gap",
             "session=%s channel=%s reason=\"earlier files are missing\"",
             st->session->id, stream_channel(st));
    return true;
}

/* A person gave up the rest of the file, and its writer has made another one. */
static bool batch_begins_after_the_end(struct stream *st)
{
    if (st->ended_file != st->file || st->offset == 0) {
        return false;
    }
    st->ended_file = 0;
    position_begin_at(st, st->file, 0, 0);
    return true;
}

static enum made batch_read_problem(struct stream *st, gpufl_status status,
                                    const struct tail_chunk *chunk)
{
    struct session *session = st->session;
    if (chunk->elsewhere) {
        st->rest = STREAM_PENDING;
        session_mark_later(session, session->root->engine->config.sys->now_ms());
    } else if (status == GPUFL_ERR_NOT_FOUND) {
        if (batch_begins_later(st) || (st->gap && sealed_file_find(st))) {
            return MADE_STEP;
        }
        if (session->layout == SESSION_SHIFTING) {
            return shifted_stream_lost(st);
        }
        if (session->layout == SESSION_LIVE && st->ended_file == st->file &&
            st->file <= st->highest) {
            return next_file_pass(st) ? MADE_STEP : MADE_NOTHING;
        }
        if (session->layout == SESSION_LIVE && st->file <= st->highest) {
            stream_hold(st, HELD_MISSING);
        }
        /* Renamed, as the next inspection will find, or deleted. */
        st->rest = st->file <= st->highest              ? STREAM_PENDING
                   : stream_seen_bytes(st) > st->offset ? STREAM_MISSING
                                                        : STREAM_DRAINED;
    } else if (status == GPUFL_ERR_FORMAT && sealed_file_is_late(st)) {
        stream_hold(st, HELD_LATE);
    } else if (status == GPUFL_ERR_FORMAT && chunk->other) {
        if (batch_begins_in_the_middle(st) || batch_begins_after_the_end(st)) {
            return MADE_STEP;
        }
        stream_hold(st, HELD_OTHER);
    } else if (status == GPUFL_ERR_FORMAT) {
        stream_hold(st, chunk->packed ? HELD_DAMAGED : HELD_SHORTER);
    } else {
        stream_hold(st, HELD_UNREADABLE);
    }
    return MADE_NOTHING;
}

enum made batch_make(struct stream *st)
{
    struct engine *engine = st->session->root->engine;
    struct tail_chunk chunk;
    if (!shifted_stream_find(st)) {
        return MADE_NOTHING;
    }
    uint64_t searched = line_end_searched(st);
    if (searched) {
        return batch_too_long(st, searched);
    }
    struct tail_where where = stream_where(st);
    struct ndjson_limits limits = {.max_bytes = engine->config.max_batch_bytes,
                                   .max_lines = engine->config.max_batch_lines};
    gpufl_status status = tail_read(engine->config.sys, &where, engine->raw,
                                    engine->config.max_batch_bytes, &chunk);
    if (status != GPUFL_OK) {
        return batch_read_problem(st, status, &chunk);
    }
    st->index = (uint8_t)chunk.index;
    st->mark = chunk.mark;
    if (st->offset >= st->split_end) {
        st->split_lines = 0;
    } else if (st->split_lines && st->split_lines < limits.max_lines) {
        limits.max_lines = st->split_lines;
    }
    struct ndjson_cut cut = ndjson_cut(engine->raw, chunk.len, limits);
    if (cut.lines == 0) {
        return batch_nothing_whole(st, &chunk);
    }
    st->took = chunk.at_end && !chunk.sealed && cut.bytes == chunk.len ? STREAM_TOOK_ALL
                                                                       : STREAM_TOOK_PART;
    if (cut.shutdown_first) {
        bool first_time = !st->at_shutdown;
        st->at_shutdown = true;
        uint64_t now_ms = engine->config.sys->now_ms();
        if (!shutdown_may_go(st, now_ms)) {
            if (session_writer_is_unprobed(st->session)) {
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
