/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares statements once and runs them. */
#include "backend/store/store_statement.h"

#include <errno.h>
#include <stddef.h>

#include "backend/store/store_schema.h"

bool statement_prepare_all(struct store *store)
{
    bool ok = true;
    static const char *const first[] = {STORE_PRAGMAS, "BEGIN IMMEDIATE", STORE_MARKS,
                                        STORE_TABLES, "COMMIT"};
    for (size_t i = 0; ok && i < sizeof first / sizeof *first; i++) {
        ok = sqlite3_exec(store->db, first[i], NULL, NULL, NULL) == SQLITE_OK;
    }
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

bool statement_lacks_room(const struct store *store, int error)
{
    return sqlite3_errcode(store->db) == SQLITE_FULL || error == ENOSPC ||
           error == EDQUOT || error == EFBIG;
}

gpufl_status statement_end(sqlite3_stmt *s, int rc)
{
    sqlite3_reset(s);
    return rc == SQLITE_DONE ? GPUFL_OK : GPUFL_ERR_IO;
}
