/* SPDX-License-Identifier: Apache-2.0 */
/* Deletes sessions from the database. */
#include "backend/store/store_retention.h"

#include <stdio.h>

#include "backend/store/store_health.h"
#include "backend/store/store_statement.h"
#include "backend/store/wall_clock.h"

uint64_t store_bytes(struct store *store)
{
    sqlite3_stmt *s = statement_use(store, S_BYTES);
    uint64_t bytes =
        sqlite3_step(s) == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(s, 0) : 0;
    sqlite3_reset(s);
    return bytes;
}

static int read_oldest(sqlite3_stmt *s, struct store_session *out, unsigned *sessions)
{
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW) {
        out->id = sqlite3_column_int64(s, 0);
        snprintf(out->session, sizeof out->session, "%s",
                 (const char *)sqlite3_column_text(s, 1));
        out->last_seen_ms = sqlite3_column_int64(s, 2);
        *sessions = (unsigned)sqlite3_column_int64(s, 3);
    }
    sqlite3_reset(s);
    return rc;
}

gpufl_status store_oldest(struct store *store, struct store_session *out,
                          unsigned *sessions)
{
    sqlite3_stmt *s = statement_use(store, S_OLDEST);
    *sessions = 0;
    *out = (struct store_session){0};
    sqlite3_bind_int64(s, 1, wall_clock_ms() - STORE_LIVE_MS);
    int rc = read_oldest(s, out, sessions);
    if (rc == SQLITE_DONE) {
        rc = read_oldest(statement_use(store, S_OLDEST_LIVE), out, sessions);
    }
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? GPUFL_OK : GPUFL_ERR_IO;
}

/* The ends of streams stay, as expired: else they would come again from their first line.
 */
static bool delete_rest(struct store *store, int64_t session)
{
    static const enum statement rest[] = {
        S_DELETE_SERIES, S_DELETE_TALLIES, S_DELETE_NAMES, S_DELETE_CHANNELS,
        S_DELETE_TEXTS,  S_DELETE_PARTS,   S_DELETE_ALIVE, S_DELETE_SESSION};
    for (unsigned i = 0; i < sizeof rest / sizeof *rest; i++) {
        sqlite3_stmt *s = statement_use(store, rest[i]);
        sqlite3_bind_int64(s, 1, session);
        if (!statement_run(s)) {
            return false;
        }
    }
    return true;
}

gpufl_status store_delete(struct store *store, int64_t session, unsigned bodies)
{
    if (!statement_run(statement_use(store, S_BEGIN))) {
        store_health_failed(store, 0);
        return GPUFL_ERR_IO;
    }
    sqlite3_stmt *s = statement_use(store, S_EXPIRE);
    sqlite3_bind_int64(s, 1, session);
    bool ok = statement_run(s);
    s = statement_use(store, S_DELETE_BODIES);
    sqlite3_bind_int64(s, 1, session);
    sqlite3_bind_int64(s, 2, bodies);
    ok = ok && statement_run(s);
    bool last = ok && sqlite3_changes(store->db) < (int)bodies;
    ok = ok && (!last || delete_rest(store, session)) &&
         statement_run(statement_use(store, S_COMMIT));
    if (!ok) {
        store_health_failed(store, 0);
        statement_run(statement_use(store, S_ROLLBACK));
    }
    return ok ? GPUFL_OK : GPUFL_ERR_IO;
}
