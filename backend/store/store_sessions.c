/* SPDX-License-Identifier: Apache-2.0 */
/* Reads sessions, channels and bodies from the database. */
#include "backend/store/store_sessions.h"

#include <stdio.h>
#include <stdlib.h>

#include "backend/store/codec.h"
#include "backend/store/store_statement.h"
#include "base/array.h"
#include "schema/protocol.h"

gpufl_status store_delivery(struct store *store, int64_t session,
                            void (*visit)(void *arg, const struct store_arrival *arrival),
                            void *arg)
{
    sqlite3_stmt *s = statement_use(store, S_DELIVERY);
    sqlite3_bind_int64(s, 1, session);
    int rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct store_arrival row = {
            .channel = (const char *)sqlite3_column_text(s, 0),
            .sequence = (uint32_t)sqlite3_column_int64(s, 1),
            .lines = (uint64_t)sqlite3_column_int64(s, 2),
            .received_ms = sqlite3_column_int64(s, 3),
            .newest_ns = sqlite3_column_int64(s, 4),
        };
        visit(arg, &row);
    }
    return statement_end(s, rc);
}

static void text_column(sqlite3_stmt *s, int at, char *out, size_t size)
{
    const unsigned char *text = sqlite3_column_text(s, at);
    snprintf(out, size, "%s", text ? (const char *)text : "");
}

gpufl_status store_sessions(struct store *store, const char *only, unsigned limit,
                            unsigned offset,
                            void (*visit)(void *arg, const struct store_session *session),
                            void *arg)
{
    sqlite3_stmt *s = statement_use(store, S_LIST);
    statement_bind_text(s, 1, only);
    sqlite3_bind_int64(s, 2, limit);
    sqlite3_bind_int64(s, 3, offset);
    int rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct store_session row = {
            .id = sqlite3_column_int64(s, 0),
            .start_ns = sqlite3_column_int64(s, 5),
            .shutdown_ns = sqlite3_column_int64(s, 6),
            .first_seen_ms = sqlite3_column_int64(s, 7),
            .last_seen_ms = sqlite3_column_int64(s, 8),
            .complete = sqlite3_column_int(s, 9) == STORE_COMPLETE ||
                        sqlite3_column_int(s, 9) == STORE_VERIFIED,
            .verified = sqlite3_column_int(s, 9) == STORE_VERIFIED,
            .ended = sqlite3_column_int(s, 9) == STORE_ENDED,
            .losses = (uint64_t)sqlite3_column_int64(s, 19),
            .skips = (uint64_t)sqlite3_column_int64(s, 20),
            .lines = (uint64_t)sqlite3_column_int64(s, 10),
            .raw_bytes = (uint64_t)sqlite3_column_int64(s, 11),
            .stored_bytes = (uint64_t)sqlite3_column_int64(s, 12),
            .rejected = (uint64_t)sqlite3_column_int64(s, 13),
            .duplicates = (uint64_t)sqlite3_column_int64(s, 15),
            .missing = (uint64_t)sqlite3_column_int64(s, 16),
            .told_ms = sqlite3_column_int64(s, 17),
            .last_byte_ms = sqlite3_column_int64(s, 18),
        };
        text_column(s, 1, row.session, sizeof row.session);
        text_column(s, 2, row.app, sizeof row.app);
        text_column(s, 3, row.hostname, sizeof row.hostname);
        text_column(s, 4, row.kind, sizeof row.kind);
        text_column(s, 14, row.gpus, sizeof row.gpus);
        visit(arg, &row);
    }
    return statement_end(s, rc);
}

gpufl_status store_session_state(struct store *store, const char *session,
                                 enum store_completeness *out)
{
    sqlite3_stmt *s = statement_use(store, S_STATE);
    statement_bind_text(s, 1, session);
    int rc = sqlite3_step(s);
    *out =
        rc == SQLITE_ROW ? (enum store_completeness)sqlite3_column_int(s, 0) : STORE_OPEN;
    sqlite3_reset(s);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? GPUFL_OK : GPUFL_ERR_IO;
}

gpufl_status store_claimant(struct store *store, const char *session, uint32_t *owner)
{
    sqlite3_stmt *s = statement_use(store, S_CLAIMANT);
    statement_bind_text(s, 1, session);
    int rc = sqlite3_step(s);
    *owner = rc == SQLITE_ROW ? (uint32_t)sqlite3_column_int64(s, 0) : 0;
    sqlite3_reset(s);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? GPUFL_OK : GPUFL_ERR_IO;
}

gpufl_status store_channels(struct store *store, int64_t session,
                            void (*visit)(void *arg, const struct store_channel *channel),
                            void *arg)
{
    sqlite3_stmt *s = statement_use(store, S_CHANNELS);
    sqlite3_bind_int64(s, 1, session);
    int rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct store_channel row = {
            .lines = (uint64_t)sqlite3_column_int64(s, 1),
            .raw_bytes = (uint64_t)sqlite3_column_int64(s, 2),
            .bodies = (uint64_t)sqlite3_column_int64(s, 3),
            .first_sequence = (uint32_t)sqlite3_column_int64(s, 4),
            .last_sequence = (uint32_t)sqlite3_column_int64(s, 5),
        };
        text_column(s, 0, row.name, sizeof row.name);
        visit(arg, &row);
    }
    return statement_end(s, rc);
}

gpufl_status store_bodies(struct store *store, int64_t session, const char *channel,
                          int64_t **ids, size_t *count)
{
    sqlite3_stmt *s = statement_use(store, S_BODIES);
    size_t cap = 0;
    int rc;
    *ids = NULL;
    *count = 0;
    sqlite3_bind_int64(s, 1, session);
    statement_bind_text(s, 2, channel);
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        int64_t *more = array_grown(*ids, *count, &cap, sizeof *more);
        if (!more) {
            break;
        }
        *ids = more;
        more[(*count)++] = sqlite3_column_int64(s, 0);
    }
    sqlite3_reset(s);
    if (rc != SQLITE_DONE) {
        free(*ids);
        *ids = NULL;
        return GPUFL_ERR_IO;
    }
    return GPUFL_OK;
}

gpufl_status store_body_lines(struct store *store, int64_t body, char **data, size_t *len)
{
    sqlite3_stmt *s = statement_use(store, S_BODY_DATA);
    gpufl_status status = GPUFL_ERR_IO;
    *data = NULL;
    *len = 0;
    sqlite3_bind_int64(s, 1, body);
    if (sqlite3_step(s) == SQLITE_ROW) {
        status = codec_decode(
            (enum encoding)sqlite3_column_int(s, 0), sqlite3_column_blob(s, 1),
            (size_t)sqlite3_column_bytes(s, 1), PROTOCOL_MAX_DECODED_BYTES, data, len);
    }
    sqlite3_reset(s);
    return status;
}
