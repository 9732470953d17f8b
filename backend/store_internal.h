/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that speak SQL share: store*.c. */
#ifndef GPUFL_BACKEND_STORE_INTERNAL_H
#define GPUFL_BACKEND_STORE_INTERNAL_H

#include <sqlite3.h>

#include "backend/store.h"

/** Each has one prepared statement, in store_schema.h. */
enum statement {
    S_BEGIN,
    S_COMMIT,
    S_ROLLBACK,
    S_BY_ID,
    S_BY_SEQUENCE,
    S_TOUCH,
    S_SESSION_ID,
    S_BODY,
    S_DESCRIBE,
    S_COMPLETE,
    S_LIST,
    S_CHANNELS,
    S_CHANNEL,
    S_BODIES,
    S_BODY_DATA,
    S_DUPLICATE,
    S_DELIVERY,
    S_OLDEST,
    S_DELETE_BODIES,
    S_DELETE_SERIES,
    S_DELETE_TALLIES,
    S_DELETE_NAMES,
    S_DELETE_CHANNELS,
    S_DELETE_TEXTS,
    S_DELETE_SESSION,
    S_BYTES,
    S_NAME,
    S_TALLY,
    S_TABLE,
    S_TEXT,
    S_TALLIES,
    S_TALLY_SUM,
    S_TALLIES_BY_NAME,
    S_TABLES,
    S_SERIES,
    S_NAME_OF,
    S_TEXT_OF,
    S_COUNT
};

struct store {
    sqlite3 *db;
    sqlite3_stmt *statement[S_COUNT];
};

/** A statement, ready to be bound. */
sqlite3_stmt *store_use(struct store *store, enum statement which);

/** \p text must last until the statement is stepped; NULL is NULL. */
void store_bind_text(sqlite3_stmt *statement, int at, const char *text);

/** Runs to the end and lets go of the row. */
bool store_run(sqlite3_stmt *statement);

/** Adds what was digested of a body, within its transaction. */
bool store_digest(struct store *store, int64_t session, const struct digest *digest);

#endif
