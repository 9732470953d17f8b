/* SPDX-License-Identifier: Apache-2.0 */
/* The prepared statements of a store, for the files that speak SQL: store*.c. */
#ifndef GPUFL_BACKEND_STORE_STORE_STATEMENT_H
#define GPUFL_BACKEND_STORE_STORE_STATEMENT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "backend/store/store_file.h"

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
    S_REJECT,
    S_DELIVERY,
    S_OLDEST,
    S_OLDEST_LIVE,
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
    S_TEXT_FIRST,
    S_TALLIES,
    S_TALLY_SUM,
    S_TALLIES_BY_NAME,
    S_TABLES,
    S_SERIES,
    S_NAME_OF,
    S_TEXT_OF,
    S_TRY,
    S_TRIED,
    S_ORIGIN_NEW,
    S_ORIGIN,
    S_STATE,
    S_MOVE_END,
    S_FILE_CRC,
    S_STREAM,
    S_STREAM_END,
    S_STREAMS,
    S_IS_WINDOWED,
    S_WINDOWED,
    S_PART,
    S_PLACE,
    S_LOST_AFTER,
    S_EXPIRE,
    S_DELETE_PARTS,
    S_ALIVE,
    S_DELETE_ALIVE,
    S_CLAIMANT_NOTE,
    S_CLAIMANT,
    S_OWNED_WITHOUT,
    S_DELETE_CLAIMANT,
    S_MOVE_SEEN,
    S_MOVE_TOLD,
    S_CLOCK,
    S_CLOCK_NOTE,
    S_SEEN_AT,
    S_FORGET_TOLD,
    S_COUNT
};

#define STORE_EPOCH_BYTES 80

/** Of store_health.h. */
struct store_health {
    bool failing;
    bool full;
    bool said;    /**< in the log */
    size_t bytes; /**< the most that could not be written */
    uint64_t said_ms;
    uint64_t asked_ms;
    char why[200];
    bool away; /**< a file is not where it was opened, … */
    uint64_t away_ms;
    char why_away[300];
};

/** Of store_clock.h: how far the clock of the day is from one that is never set. It is in
 * the database, and counts in this boot alone. */
struct store_clock {
    bool looked;             /**< in this run */
    bool known;              /**< it has shown a time */
    bool unset;              /**< it shows none now, … */
    int64_t offset_ms;       /**< when it showed one last */
    int64_t unset_offset_ms; /**< … and when that began */
};

struct store {
    sqlite3 *db;
    char epoch[STORE_EPOCH_BYTES]; /**< of store_epoch.h */
    int lock_fd;                   /**< of store_lock(); -1 for a database in memory */
    struct store_file file;        /**< of the database, … */
    struct store_file wal;         /**< … and what is not in it yet; none in memory */
    struct store_health health;
    struct store_clock clock;
    uint64_t deleted;         /**< sessions, of which the log does not tell yet … */
    uint64_t deleted_said_ms; /**< … and when it told of some last, 0 = never */
    sqlite3_stmt *statement[S_COUNT];
};

/** Creates missing tables and prepares all statements. */
bool statement_prepare_all(struct store *store);

void statement_finalize_all(struct store *store);

/** A statement, ready to be bound. */
sqlite3_stmt *statement_use(struct store *store, enum statement which);

/** \p text must last until the statement is stepped; NULL is NULL. */
void statement_bind_text(sqlite3_stmt *statement, int at, const char *text);

/** Runs to the end and resets the statement. */
bool statement_run(sqlite3_stmt *statement);

/** True when the last call of the database failed as there is no room; \p error: errno of
 * the system call behind it, 0 = none failed. */
bool statement_lacks_room(const struct store *store, int error);

/** Resets a statement whose last step returned \p rc. \return GPUFL_OK when there were no
 * more rows, else GPUFL_ERR_IO. */
gpufl_status statement_end(sqlite3_stmt *statement, int rc);

#endif
