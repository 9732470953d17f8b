/* SPDX-License-Identifier: Apache-2.0 */
/* Deletes sessions from the database. */
#include "backend/store/store_retention.h"

#include <stdio.h>

#include "backend/store/store_clock.h"
#include "backend/store/store_health.h"
#include "backend/store/store_statement.h"
#include "backend/store/wall_clock.h"
#include "base/log.h"
#include "base/sys.h"

#define SAID_AGAIN_MS 10000u

uint64_t store_bytes(struct store *store)
{
    sqlite3_stmt *s = statement_use(store, S_BYTES);
    uint64_t bytes =
        sqlite3_step(s) == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(s, 0) : 0;
    sqlite3_reset(s);
    return bytes;
}

/* While the clock shows no time, nothing of before is live. */
static int read_oldest(struct store *store, enum statement which, int64_t since_ms,
                       struct store_session *out, unsigned *sessions)
{
    int64_t now_ms = wall_clock_ms();
    sqlite3_stmt *s = statement_use(store, which);
    sqlite3_bind_int64(s, 1, now_ms - STORE_LIVE_MS);
    sqlite3_bind_int64(
        s, 2, store_clock_shows_time(now_ms) ? INT64_MAX : STORE_CLOCK_NEVER_SET_MS);
    sqlite3_bind_int64(s, 3, since_ms);
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
    static const enum statement which[] = {S_OLDEST, S_OLDEST, S_OLDEST_LIVE,
                                           S_OLDEST_LIVE};
    int rc = SQLITE_DONE;
    *sessions = 0;
    *out = (struct store_session){0};
    for (unsigned i = 0; rc == SQLITE_DONE && i < sizeof which / sizeof *which; i++) {
        int64_t since_ms = i % 2 == 0 ? STORE_CLOCK_NEVER_SET_MS : INT64_MIN;
        rc = read_oldest(store, which[i], since_ms, out, sessions);
    }
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? GPUFL_OK : GPUFL_ERR_IO;
}

/* The ends of streams stay, as expired: else they would come again from their first line.
 */
static bool delete_rest(struct store *store, int64_t session)
{
    static const enum statement rest[] = {
        S_DELETE_SERIES,   S_DELETE_TALLIES,  S_DELETE_NAMES,
        S_DELETE_CHANNELS, S_DELETE_TEXTS,    S_DELETE_PARTS,
        S_DELETE_ALIVE,    S_DELETE_CLAIMANT, S_DELETE_SESSION};
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
    store->deleted += ok && last;
    return ok ? GPUFL_OK : GPUFL_ERR_IO;
}

void store_say_deleted(struct store *store, bool last)
{
    static const struct log to_stderr = {.level = LOG_AT_INFO, .write = log_to_stderr};
    uint64_t now_ms = sys_real.now_ms();
    bool again =
        store->deleted_said_ms && now_ms - store->deleted_said_ms < SAID_AGAIN_MS;
    if (store->deleted == 0 || (again && !last)) {
        return;
    }
    log_info(&to_stderr, "store.deleted",
             "sessions=%llu note=\"as --retain-days or --max-db-bytes says\"",
             (unsigned long long)store->deleted);
    store->deleted = 0;
    store->deleted_said_ms = now_ms;
}
