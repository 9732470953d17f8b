/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions and bodies. */
#include "backend/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/store_internal.h"
#include "backend/store_schema.h"
#include "schema/protocol.h"

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

sqlite3_stmt *store_use(struct store *store, enum statement which)
{
    sqlite3_reset(store->statement[which]);
    sqlite3_clear_bindings(store->statement[which]);
    return store->statement[which];
}

void store_bind_text(sqlite3_stmt *s, int at, const char *text)
{
    if (text) {
        sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
    }
}

bool store_run(sqlite3_stmt *s)
{
    int rc = sqlite3_step(s);
    sqlite3_reset(s);
    return rc == SQLITE_DONE || rc == SQLITE_ROW;
}

/* A new file (version 0) or one of ours. */
static bool version_fits(sqlite3 *db)
{
    sqlite3_stmt *s = NULL;
    bool fits = false;
    if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW) {
        int version = sqlite3_column_int(s, 0);
        fits = version == 0 || version == atoi(STORE_VERSION);
    }
    sqlite3_finalize(s);
    return fits;
}

static bool prepare(struct store *store)
{
    bool ok = sqlite3_exec(store->db, STORE_SCHEMA, NULL, NULL, NULL) == SQLITE_OK;
    for (int i = 0; ok && i < S_COUNT; i++) {
        ok = sqlite3_prepare_v3(store->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                                &store->statement[i], NULL) == SQLITE_OK;
    }
    return ok;
}

gpufl_status store_open(const char *path, struct store **out, char why[256])
{
    *out = NULL;
    struct store *store = calloc(1, sizeof *store);
    if (!store) {
        snprintf(why, 256, "out of memory");
        return GPUFL_ERR_NOMEM;
    }
    bool opened = sqlite3_open(path, &store->db) == SQLITE_OK &&
                  sqlite3_busy_timeout(store->db, 5000) == SQLITE_OK;
    bool fits = opened && version_fits(store->db);
    if (!fits || !prepare(store)) {
        snprintf(why, 256, "cannot use the database %.120s: %.100s", path,
                 opened && !fits && sqlite3_errcode(store->db) == SQLITE_OK
                     ? "another version made it; name another file"
                     : sqlite3_errmsg(store->db));
        store_close(store);
        return GPUFL_ERR_IO;
    }
    *out = store;
    return GPUFL_OK;
}

void store_close(struct store *store)
{
    if (!store) {
        return;
    }
    for (int i = 0; i < S_COUNT; i++) {
        sqlite3_finalize(store->statement[i]);
    }
    sqlite3_close(store->db);
    free(store);
}

gpufl_status store_lookup(struct store *store, const char *window_id, const char *session,
                          const char *channel, uint32_t sequence, uint32_t crc32,
                          enum registry *out)
{
    sqlite3_stmt *s = store_use(store, S_BY_ID);
    store_bind_text(s, 1, window_id);
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW) {
        bool same = sqlite3_column_int64(s, 0) == crc32 &&
                    strcmp((const char *)sqlite3_column_text(s, 1), session) == 0 &&
                    strcmp((const char *)sqlite3_column_text(s, 2), channel) == 0 &&
                    sqlite3_column_int64(s, 3) == sequence;
        *out = same ? REGISTRY_KNOWN : REGISTRY_IDENTITY_CONFLICT;
        sqlite3_reset(s);
        return GPUFL_OK;
    }
    sqlite3_reset(s);
    if (rc != SQLITE_DONE) {
        return GPUFL_ERR_IO;
    }
    s = store_use(store, S_BY_SEQUENCE);
    store_bind_text(s, 1, session);
    store_bind_text(s, 2, channel);
    sqlite3_bind_int64(s, 3, sequence);
    rc = sqlite3_step(s);
    sqlite3_reset(s);
    *out = rc == SQLITE_ROW ? REGISTRY_SEQUENCE_CONFLICT : REGISTRY_NEW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? GPUFL_OK : GPUFL_ERR_IO;
}

static int64_t touch_session(struct store *store, const char *session)
{
    sqlite3_stmt *s = store_use(store, S_TOUCH);
    store_bind_text(s, 1, session);
    sqlite3_bind_int64(s, 2, now_ms());
    if (!store_run(s)) {
        return 0;
    }
    s = store_use(store, S_SESSION_ID);
    store_bind_text(s, 1, session);
    int64_t id = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    sqlite3_reset(s);
    return id;
}

static bool insert_body(struct store *store, int64_t session, const struct store_body *b)
{
    sqlite3_stmt *s = store_use(store, S_BODY);
    sqlite3_bind_int64(s, 1, session);
    store_bind_text(s, 2, b->channel);
    if (b->window_id) {
        sqlite3_bind_int64(s, 3, b->sequence);
        store_bind_text(s, 4, b->window_id);
        sqlite3_bind_int64(s, 5, b->crc32);
    }
    sqlite3_bind_int(s, 6, (int)b->encoding);
    sqlite3_bind_int64(s, 7, (int64_t)b->lines->accepted);
    sqlite3_bind_int64(s, 8, (int64_t)b->raw_len);
    sqlite3_bind_int64(s, 9, now_ms());
    sqlite3_bind_int64(s, 10, b->lines->digest.newest_ns);
    sqlite3_bind_blob64(s, 11, b->data, b->len, SQLITE_STATIC);
    return store_run(s);
}

static bool count_body(struct store *store, int64_t session, const struct store_body *b)
{
    sqlite3_stmt *s = store_use(store, S_CHANNEL);
    sqlite3_bind_int64(s, 1, session);
    store_bind_text(s, 2, b->channel);
    sqlite3_bind_int64(s, 3, (int64_t)b->lines->accepted);
    sqlite3_bind_int64(s, 4, (int64_t)b->raw_len);
    sqlite3_bind_int64(s, 5, b->window_id ? b->sequence : 0);
    return store_run(s);
}

static bool describe(struct store *store, int64_t session, const struct store_body *b)
{
    const struct lines *l = b->lines;
    const struct digest_session *about = &l->digest.session;
    sqlite3_stmt *s = store_use(store, S_DESCRIBE);
    sqlite3_bind_int64(s, 1, session);
    sqlite3_bind_int64(s, 2, (int64_t)l->accepted);
    sqlite3_bind_int64(s, 3, (int64_t)b->raw_len);
    sqlite3_bind_int64(s, 4, (int64_t)b->len);
    sqlite3_bind_int64(s, 5, (int64_t)l->rejected);
    store_bind_text(s, 6, about->app);
    store_bind_text(s, 7, about->hostname[0] ? about->hostname : b->hostname);
    store_bind_text(s, 8, about->kind);
    sqlite3_bind_int64(s, 9, about->start_ns);
    sqlite3_bind_int64(s, 10, about->shutdown_ns);
    store_bind_text(s, 11, about->gpus);
    sqlite3_bind_int64(s, 12, l->digest.first_ns);
    sqlite3_bind_int64(s, 13, l->digest.last_ns);
    sqlite3_bind_int64(s, 14, (int64_t)l->digest.metrics);
    return store_run(s);
}

gpufl_status store_add(struct store *store, const struct store_body *body)
{
    if (!store_run(store_use(store, S_BEGIN))) {
        return GPUFL_ERR_IO;
    }
    int64_t session = touch_session(store, body->session);
    bool ok = session && insert_body(store, session, body) &&
              count_body(store, session, body) &&
              store_digest(store, session, &body->lines->digest) &&
              describe(store, session, body) && store_run(store_use(store, S_COMMIT));
    if (!ok) {
        store_run(store_use(store, S_ROLLBACK));
    }
    return ok ? GPUFL_OK : GPUFL_ERR_IO;
}

gpufl_status store_complete(struct store *store, const char *session)
{
    sqlite3_stmt *s = store_use(store, S_COMPLETE);
    store_bind_text(s, 1, session);
    if (!store_run(s)) {
        return GPUFL_ERR_IO;
    }
    return sqlite3_changes(store->db) ? GPUFL_OK : GPUFL_ERR_NOT_FOUND;
}

gpufl_status store_duplicate(struct store *store, const char *session)
{
    sqlite3_stmt *s = store_use(store, S_DUPLICATE);
    store_bind_text(s, 1, session);
    return store_run(s) ? GPUFL_OK : GPUFL_ERR_IO;
}

gpufl_status store_delivery(struct store *store, int64_t session,
                            void (*visit)(void *arg, const struct store_arrival *arrival),
                            void *arg)
{
    sqlite3_stmt *s = store_use(store, S_DELIVERY);
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
    sqlite3_reset(s);
    return rc == SQLITE_DONE ? GPUFL_OK : GPUFL_ERR_IO;
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
    sqlite3_stmt *s = store_use(store, S_LIST);
    store_bind_text(s, 1, only);
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
            .complete = sqlite3_column_int(s, 9),
            .lines = (uint64_t)sqlite3_column_int64(s, 10),
            .raw_bytes = (uint64_t)sqlite3_column_int64(s, 11),
            .stored_bytes = (uint64_t)sqlite3_column_int64(s, 12),
            .rejected = (uint64_t)sqlite3_column_int64(s, 13),
            .duplicates = (uint64_t)sqlite3_column_int64(s, 15),
            .missing = (uint64_t)sqlite3_column_int64(s, 16),
        };
        text_column(s, 1, row.session, sizeof row.session);
        text_column(s, 2, row.app, sizeof row.app);
        text_column(s, 3, row.hostname, sizeof row.hostname);
        text_column(s, 4, row.kind, sizeof row.kind);
        text_column(s, 14, row.gpus, sizeof row.gpus);
        visit(arg, &row);
    }
    sqlite3_reset(s);
    return rc == SQLITE_DONE ? GPUFL_OK : GPUFL_ERR_IO;
}

gpufl_status store_channels(struct store *store, int64_t session,
                            void (*visit)(void *arg, const struct store_channel *channel),
                            void *arg)
{
    sqlite3_stmt *s = store_use(store, S_CHANNELS);
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
    sqlite3_reset(s);
    return rc == SQLITE_DONE ? GPUFL_OK : GPUFL_ERR_IO;
}

gpufl_status store_bodies(struct store *store, int64_t session, const char *channel,
                          int64_t **ids, size_t *count)
{
    sqlite3_stmt *s = store_use(store, S_BODIES);
    size_t cap = 0;
    int rc;
    *ids = NULL;
    *count = 0;
    sqlite3_bind_int64(s, 1, session);
    store_bind_text(s, 2, channel);
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        if (*count == cap) {
            cap = cap ? cap * 2 : 64;
            int64_t *more = realloc(*ids, cap * sizeof *more);
            if (!more) {
                break;
            }
            *ids = more;
        }
        (*ids)[(*count)++] = sqlite3_column_int64(s, 0);
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
    sqlite3_stmt *s = store_use(store, S_BODY_DATA);
    gpufl_status status = GPUFL_ERR_IO;
    *data = NULL;
    *len = 0;
    sqlite3_bind_int64(s, 1, body);
    if (sqlite3_step(s) == SQLITE_ROW) {
        status = decode_body(
            (enum encoding)sqlite3_column_int(s, 0), sqlite3_column_blob(s, 1),
            (size_t)sqlite3_column_bytes(s, 1), PROTOCOL_MAX_DECODED_BYTES, data, len);
    }
    sqlite3_reset(s);
    return status;
}
