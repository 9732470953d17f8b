/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares statements once and runs them. */
#include "backend/store/store_statement.h"

#include <stddef.h>

#include "backend/store/store_schema.h"

bool statement_version_fits(sqlite3 *db)
{
    sqlite3_stmt *s = NULL;
    bool fits = false;
    if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW) {
        int version = sqlite3_column_int(s, 0);
        fits = version == 0 || version == STORE_VERSION;
    }
    sqlite3_finalize(s);
    return fits;
}

bool statement_prepare_all(struct store *store)
{
    bool ok = sqlite3_exec(store->db, STORE_SCHEMA, NULL, NULL, NULL) == SQLITE_OK;
    for (int i = 0; ok && i < S_COUNT; i++) {
        ok = sqlite3_prepare_v3(store->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                                &store->statement[i], NULL) == SQLITE_OK;
    }
    return ok;
}

void statement_finalize_all(struct store *store)
{
    for (int i = 0; i < S_COUNT; i++) {
        sqlite3_finalize(store->statement[i]);
    }
}

sqlite3_stmt *statement_use(struct store *store, enum statement which)
{
    sqlite3_reset(store->statement[which]);
    sqlite3_clear_bindings(store->statement[which]);
    return store->statement[which];
}

void statement_bind_text(sqlite3_stmt *s, int at, const char *text)
{
    if (text) {
        sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
    }
}

bool statement_run(sqlite3_stmt *s)
{
    int rc = sqlite3_step(s);
    sqlite3_reset(s);
    return rc == SQLITE_DONE || rc == SQLITE_ROW;
}

gpufl_status statement_end(sqlite3_stmt *s, int rc)
{
    sqlite3_reset(s);
    return rc == SQLITE_DONE ? GPUFL_OK : GPUFL_ERR_IO;
}
