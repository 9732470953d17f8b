/* SPDX-License-Identifier: Apache-2.0 */
/* Puts bodies into the database, each with all that is shown of it in one transaction. */
#include "backend/store/store_ingest.h"

#include <string.h>

#include "backend/store/store_digest.h"
#include "backend/store/store_health.h"
#include "backend/store/store_statement.h"
#include "backend/store/wall_clock.h"

gpufl_status store_lookup(struct store *store, const struct store_identity *id,
                          enum registry *out)
{
    sqlite3_stmt *s = statement_use(store, S_BY_ID);
    statement_bind_text(s, 1, id->session);
    statement_bind_text(s, 2, id->window_id);
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW) {
        bool same = sqlite3_column_int64(s, 0) == id->crc32 &&
                    strcmp((const char *)sqlite3_column_text(s, 1), id->channel) == 0 &&
                    sqlite3_column_int64(s, 2) == id->sequence;
        *out = same ? REGISTRY_KNOWN : REGISTRY_IDENTITY_CONFLICT;
        sqlite3_reset(s);
        return GPUFL_OK;
    }
    sqlite3_reset(s);
    if (rc != SQLITE_DONE) {
        return GPUFL_ERR_IO;
    }
    s = statement_use(store, S_BY_SEQUENCE);
    statement_bind_text(s, 1, id->session);
    statement_bind_text(s, 2, id->channel);
    sqlite3_bind_int64(s, 3, id->sequence);
    rc = sqlite3_step(s);
    sqlite3_reset(s);
    *out = rc == SQLITE_ROW ? REGISTRY_SEQUENCE_CONFLICT : REGISTRY_NEW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? GPUFL_OK : GPUFL_ERR_IO;
}

gpufl_status store_touch(struct store *store, const char *session,
                         struct store_stored *out)
{
    *out = (struct store_stored){0};
    sqlite3_stmt *s = statement_use(store, S_TOUCH);
    statement_bind_text(s, 1, session);
    sqlite3_bind_int64(s, 2, wall_clock_ms());
    if (!statement_run(s)) {
        return GPUFL_ERR_IO;
    }
    s = statement_use(store, S_SESSION_ID);
    statement_bind_text(s, 1, session);
    out->session = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    sqlite3_reset(s);
    return out->session ? GPUFL_OK : GPUFL_ERR_IO;
}

static bool insert_body(struct store *store, int64_t session, const struct store_body *b)
{
    sqlite3_stmt *s = statement_use(store, S_BODY);
    sqlite3_bind_int64(s, 1, session);
    statement_bind_text(s, 2, b->channel);
    if (b->window_id) {
        sqlite3_bind_int64(s, 3, b->sequence);
        statement_bind_text(s, 4, b->window_id);
        sqlite3_bind_int64(s, 5, b->crc32);
    }
    sqlite3_bind_int(s, 6, (int)b->encoding);
    sqlite3_bind_int64(s, 7, (int64_t)b->lines->accepted);
    sqlite3_bind_int64(s, 8, (int64_t)b->raw_len);
    sqlite3_bind_int64(s, 9, wall_clock_ms());
    sqlite3_bind_int64(s, 10, b->lines->digest.newest_ns);
    sqlite3_bind_blob64(s, 11, b->data, b->len, SQLITE_STATIC);
    return statement_run(s);
}

static bool count_body(struct store *store, int64_t session, const struct store_body *b)
{
    sqlite3_stmt *s = statement_use(store, S_CHANNEL);
    sqlite3_bind_int64(s, 1, session);
    statement_bind_text(s, 2, b->channel);
    sqlite3_bind_int64(s, 3, (int64_t)b->lines->accepted);
    sqlite3_bind_int64(s, 4, (int64_t)b->raw_len);
    sqlite3_bind_int64(s, 5, b->window_id ? b->sequence : 0);
    return statement_run(s);
}

static bool describe_session(struct store *store, int64_t session,
                             const struct store_body *b)
{
    const struct lines *l = b->lines;
    const struct digest_session *about = &l->digest.session;
    sqlite3_stmt *s = statement_use(store, S_DESCRIBE);
    sqlite3_bind_int64(s, 1, session);
    sqlite3_bind_int64(s, 2, (int64_t)l->accepted);
    sqlite3_bind_int64(s, 3, (int64_t)b->raw_len);
    sqlite3_bind_int64(s, 4, (int64_t)b->len);
    sqlite3_bind_int64(s, 5, (int64_t)l->rejected);
    statement_bind_text(s, 6, about->app);
    statement_bind_text(s, 7, about->hostname[0] ? about->hostname : b->hostname);
    statement_bind_text(s, 8, about->kind);
    sqlite3_bind_int64(s, 9, about->start_ns);
    sqlite3_bind_int64(s, 10, about->shutdown_ns);
    statement_bind_text(s, 11, about->gpus);
    sqlite3_bind_int64(s, 12, l->digest.first_ns);
    sqlite3_bind_int64(s, 13, l->digest.last_ns);
    sqlite3_bind_int64(s, 14, (int64_t)l->digest.metrics);
    return statement_run(s);
}

gpufl_status store_put(struct store *store, const struct store_body *body,
                       struct store_stored *out)
{
    if (store_touch(store, body->session, out) != GPUFL_OK ||
        !insert_body(store, out->session, body)) {
        return GPUFL_ERR_IO;
    }
    out->body = sqlite3_last_insert_rowid(store->db);
    return count_body(store, out->session, body) &&
                   store_digest_add(store, out->session, &body->lines->digest) &&
                   describe_session(store, out->session, body)
               ? GPUFL_OK
               : GPUFL_ERR_IO;
}

/* A body without an identity names no stream, and may be of any. */
static int find_position(struct store *store, const struct store_body *body)
{
    sqlite3_stmt *s = statement_use(store, body->window_id ? S_STREAM : S_STREAMS);
    statement_bind_text(s, 1, body->session);
    if (body->window_id) {
        statement_bind_text(s, 2, body->channel);
    }
    int rc = sqlite3_step(s);
    sqlite3_reset(s);
    return rc;
}

/* Nothing tells who made it, and its session has an owner, whose channels have positions
 * or were stored without them before. */
static int find_owned(struct store *store, const struct store_body *body)
{
    sqlite3_stmt *s = statement_use(store, S_OWNED_WITHOUT);
    statement_bind_text(s, 1, body->session);
    statement_bind_text(s, 2, body->channel);
    int rc = sqlite3_step(s);
    sqlite3_reset(s);
    return rc;
}

/* A stream keeps the kind of identity it began with. */
static gpufl_status put_without_position(struct store *store,
                                         const struct store_body *body)
{
    struct store_stored stored;
    int position = find_position(store, body);
    int rc = position == SQLITE_DONE ? find_owned(store, body) : position;
    return rc == SQLITE_ROW    ? position == SQLITE_ROW ? GPUFL_BUSY : GPUFL_ERR_AUTH
           : rc == SQLITE_DONE ? store_put(store, body, &stored)
                               : GPUFL_ERR_IO;
}

/* Nothing is stored, so a session that is complete stays so, and none begins. */
static gpufl_status count_rejected(struct store *store, const struct store_body *body)
{
    sqlite3_stmt *s = statement_use(store, S_REJECT);
    statement_bind_text(s, 1, body->session);
    sqlite3_bind_int64(s, 2, (int64_t)body->lines->rejected);
    return statement_run(s) ? GPUFL_OK : GPUFL_ERR_IO;
}

gpufl_status store_add(struct store *store, const struct store_body *body)
{
    if (!statement_run(statement_use(store, S_BEGIN))) {
        store_health_failed(store, body->len);
        return GPUFL_ERR_IO;
    }
    gpufl_status status = !body->window_id && body->lines->accepted == 0
                              ? count_rejected(store, body)
                              : put_without_position(store, body);
    if (status == GPUFL_OK && !statement_run(statement_use(store, S_COMMIT))) {
        status = GPUFL_ERR_IO;
    }
    if (status == GPUFL_OK) {
        store_health_wrote(store, body->len);
        return GPUFL_OK;
    }
    if (status == GPUFL_ERR_IO) {
        store_health_failed(store, body->len);
    }
    statement_run(statement_use(store, S_ROLLBACK));
    return status;
}

void store_duplicate(struct store *store, const char *session)
{
    sqlite3_stmt *s = statement_use(store, S_DUPLICATE);
    statement_bind_text(s, 1, session);
    if (!statement_run(s)) {
        store_health_failed(store, 0);
    }
}
