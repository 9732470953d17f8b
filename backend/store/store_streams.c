/* SPDX-License-Identifier: Apache-2.0 */
/* Moves the ends of streams. One statement compares the end with a part's begin and sets
 * it: nothing is looked up first and written afterwards. */
#include "backend/store/store_streams.h"

#include <stdlib.h>

#include "backend/store/store_health.h"
#include "backend/store/store_ingest.h"
#include "backend/store/store_sessions.h"
#include "backend/store/store_statement.h"
#include "base/crc32c.h"
#include "base/crc32c_combine.h"

uint64_t stream_part_from(const struct stream_part *part)
{
    return part->start.given                    ? part->start.offset
           : part->end.file == part->begin.file ? part->begin.offset
                                                : 0;
}

gpufl_status store_streams_begin(struct store *store)
{
    if (statement_run(statement_use(store, S_BEGIN))) {
        return GPUFL_OK;
    }
    store_health_failed(store, 0);
    return GPUFL_ERR_IO;
}

gpufl_status store_streams_commit(struct store *store, size_t bytes)
{
    if (statement_run(statement_use(store, S_COMMIT))) {
        store_health_wrote(store, bytes);
        return GPUFL_OK;
    }
    store_health_failed(store, bytes);
    store_streams_rollback(store);
    return GPUFL_ERR_IO;
}

void store_streams_rollback(struct store *store)
{
    statement_run(statement_use(store, S_ROLLBACK));
}

static void bind_place(sqlite3_stmt *s, int at, const struct stream_place *place)
{
    sqlite3_bind_int64(s, at, place->file);
    sqlite3_bind_int64(s, at + 1, (int64_t)place->offset);
    sqlite3_bind_int64(s, at + 2, (int64_t)place->lines);
    sqlite3_bind_int64(s, at + 3, place->crc);
}

static struct stream_place place_column(sqlite3_stmt *s, int at)
{
    return (struct stream_place){
        .file = (uint32_t)sqlite3_column_int64(s, at),
        .offset = (uint64_t)sqlite3_column_int64(s, at + 1),
        .lines = (uint64_t)sqlite3_column_int64(s, at + 2),
        .crc = (uint32_t)sqlite3_column_int64(s, at + 3),
    };
}

static struct stored_end end_column(sqlite3_stmt *s, int at)
{
    return (struct stored_end){
        .at = place_column(s, at),
        .file_crc = (uint32_t)sqlite3_column_int64(s, at + 4),
        .losses = (uint64_t)sqlite3_column_int64(s, at + 5),
        .skips = (uint64_t)sqlite3_column_int64(s, at + 6),
        .lost_after = sqlite3_column_int(s, at + 7),
        .expired = sqlite3_column_int(s, at + 8),
    };
}

gpufl_status store_streams_end(struct store *store, const char *session,
                               const char *channel, struct stored_end *out)
{
    sqlite3_stmt *s = statement_use(store, S_STREAM_END);
    statement_bind_text(s, 1, session);
    statement_bind_text(s, 2, channel);
    int rc = sqlite3_step(s);
    *out = rc == SQLITE_ROW ? end_column(s, 0) : (struct stored_end){.at.file = 1};
    sqlite3_reset(s);
    return rc == SQLITE_ROW ? GPUFL_OK : GPUFL_ERR_IO;
}

gpufl_status store_streams_visit(struct store *store, const char *session,
                                 void (*visit)(void *arg, const char *channel,
                                               const struct stored_end *end),
                                 void *arg)
{
    sqlite3_stmt *s = statement_use(store, S_STREAMS);
    statement_bind_text(s, 1, session);
    int rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct stored_end end = end_column(s, 1);
        visit(arg, (const char *)sqlite3_column_text(s, 0), &end);
    }
    return statement_end(s, rc);
}

gpufl_status store_streams_is_windowed(struct store *store, const char *session,
                                       const char *channel, bool *out)
{
    sqlite3_stmt *s = statement_use(store, S_IS_WINDOWED);
    statement_bind_text(s, 1, session);
    statement_bind_text(s, 2, channel);
    int rc = sqlite3_step(s);
    *out = rc == SQLITE_ROW;
    sqlite3_reset(s);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? GPUFL_OK : GPUFL_ERR_IO;
}

gpufl_status store_streams_windows(struct store *store, const char *session,
                                   void (*visit)(void *arg, const char *channel),
                                   void *arg)
{
    sqlite3_stmt *s = statement_use(store, S_WINDOWED);
    statement_bind_text(s, 1, session);
    int rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        visit(arg, (const char *)sqlite3_column_text(s, 0));
    }
    return statement_end(s, rc);
}

/* Sets the end where it is what the part begins with, and makes it where there is none.
 */
static gpufl_status move_end(struct store *store, const struct stream_part *part,
                             bool *moved)
{
    sqlite3_stmt *s = statement_use(store, S_MOVE_END);
    statement_bind_text(s, 1, part->session);
    statement_bind_text(s, 2, part->channel);
    bind_place(s, 3, &part->begin);
    bind_place(s, 7, &part->end);
    sqlite3_bind_int(s, 11, part->start.given);
    sqlite3_bind_int(s, 12, part->skip);
    sqlite3_bind_int(s, 13, part->reopens);
    if (!statement_run(s)) {
        return GPUFL_ERR_IO;
    }
    *moved = sqlite3_changes(store->db) > 0;
    return GPUFL_OK;
}

/* \p before: of the file's bytes up to begin. Of bytes that were not sent, the checksum
 * follows from those of the stream before and behind them. */
static uint32_t file_crc_behind(const struct stream_part *part, uint32_t before)
{
    uint64_t from = stream_part_from(part);
    uint32_t crc = part->start.given                    ? part->start.file_crc
                   : part->begin.file == part->end.file ? before
                                                        : 0;
    return crc32c_combine(part->begin.crc ^ crc, part->end.crc, part->end.offset - from);
}

static bool set_file_crc(struct store *store, const struct stream_part *part,
                         uint32_t file_crc)
{
    sqlite3_stmt *s = statement_use(store, S_FILE_CRC);
    statement_bind_text(s, 1, part->session);
    statement_bind_text(s, 2, part->channel);
    sqlite3_bind_int64(s, 3, file_crc);
    return statement_run(s);
}

/* Keeps where the body lies in its stream, so that places within it can be told. */
static bool insert_part(struct store *store, const struct stream_part *part,
                        const struct store_stored *stored, uint32_t before,
                        uint32_t behind)
{
    struct stream_place from = part->begin;
    uint32_t from_file_crc = before;
    if (part->start.given || part->end.file != part->begin.file) {
        from.file = part->end.file;
        from.offset = stream_part_from(part);
        from_file_crc = part->start.file_crc;
    }
    sqlite3_stmt *s = statement_use(store, S_PART);
    sqlite3_bind_int64(s, 1, stored->session);
    statement_bind_text(s, 2, part->channel);
    bind_place(s, 3, &from);
    sqlite3_bind_int64(s, 7, from_file_crc);
    bind_place(s, 8, &part->end);
    sqlite3_bind_int64(s, 12, behind);
    if (stored->body) {
        sqlite3_bind_int64(s, 13, stored->body);
    }
    if (part->start.given) {
        sqlite3_bind_int64(s, 14, part->begin.file);
        sqlite3_bind_int64(s, 15, (int64_t)part->begin.offset);
    }
    return statement_run(s);
}

static gpufl_status put_bytes(struct store *store, const struct stream_part *part,
                              const struct lines *lines, const char *hostname,
                              struct store_stored *out)
{
    char *packed = NULL;
    struct store_body body = {
        .session = part->session,
        .channel = part->channel,
        .encoding = part->packed_as,
        .data = part->packed,
        .len = part->packed_len,
        .raw_len = part->len,
        .lines = lines,
        .hostname = hostname,
    };
    gpufl_status status = GPUFL_OK;
    if (!part->packed) {
        status = codec_encode_zstd(part->bytes, part->len, &packed, &body.len);
        body.data = packed;
        body.encoding = ENCODING_ZSTD;
    }
    if (status == GPUFL_OK) {
        status = store_put(store, &body, out);
    }
    free(packed);
    return status;
}

/* Everything else that belongs to an end that was moved. */
static gpufl_status put_part(struct store *store, const struct stream_part *part,
                             const struct lines *lines, const char *hostname)
{
    struct stored_end end;
    struct store_stored stored = {0};
    gpufl_status status = store_streams_end(store, part->session, part->channel, &end);
    if (status != GPUFL_OK) {
        return status;
    }
    uint32_t behind = file_crc_behind(part, end.file_crc);
    status = lines ? put_bytes(store, part, lines, hostname, &stored)
                   : store_touch(store, part->session, &stored);
    if (status != GPUFL_OK) {
        return status;
    }
    return insert_part(store, part, &stored, end.file_crc, behind) &&
                   set_file_crc(store, part, behind)
               ? GPUFL_OK
               : GPUFL_ERR_IO;
}

/* Whether only a part that reopens the session may continue it. While one is open whose
 * owner is known, anybody may have opened it: windows have no positions, and no owner. */
static gpufl_status is_closed(struct store *store, const char *session, bool *out)
{
    enum store_completeness state = STORE_OPEN;
    uint32_t owner = 0;
    gpufl_status status = store_session_state(store, session, &state);
    if (status == GPUFL_OK) {
        status = store_claimant(store, session, &owner);
    }
    *out = state != STORE_OPEN || owner;
    return status;
}

/* Why the end was not moved. */
static gpufl_status judge_unmoved(struct store *store, const struct stream_part *part,
                                  enum stream_verdict *verdict)
{
    struct stored_end end;
    bool closed = false;
    bool is_windowed = false;
    gpufl_status status = store_streams_end(store, part->session, part->channel, &end);
    if (status == GPUFL_OK) {
        status = is_closed(store, part->session, &closed);
    }
    if (status == GPUFL_OK) {
        status =
            store_streams_is_windowed(store, part->session, part->channel, &is_windowed);
    }
    if (status != GPUFL_OK) {
        return status;
    }
    *verdict = is_windowed                            ? STREAM_WINDOWS
               : stream_place_is(&end.at, &part->end) ? STREAM_KNOWN
               : end.expired                          ? STREAM_EXPIRED
               : closed && !part->reopens             ? STREAM_COMPLETE
                                                      : STREAM_CONFLICT;
    return GPUFL_OK;
}

gpufl_status store_streams_take(struct store *store, const struct stream_part *part,
                                const struct lines *lines, const char *hostname,
                                enum stream_verdict *verdict)
{
    bool moved;
    gpufl_status status = move_end(store, part, &moved);
    if (status == GPUFL_OK && moved) {
        *verdict = STREAM_STORED;
        status = put_part(store, part, lines, hostname);
    } else if (status == GPUFL_OK) {
        status = judge_unmoved(store, part, verdict);
        if (status == GPUFL_OK && *verdict == STREAM_KNOWN) {
            store_duplicate(store, part->session);
        }
    }
    if (status == GPUFL_ERR_IO) {
        store_health_failed(store, part->len);
    }
    return status;
}
