/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the reason of a failed write until a write as large succeeds, and tells while a
 * file is not where it was opened; logs both. */
#include "backend/store/store_health.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend/store/store_statement.h"
#include "base/log.h"
#include "base/message.h"
#include "base/sys.h"

#define SAID_AGAIN_MS  10000u
#define ASKED_AGAIN_MS 1000u

static const struct log to_stderr = {.level = LOG_AT_INFO, .write = log_to_stderr};

/* \p last: errno after the failed call, as SQLite forgets it when a COMMIT fails. */
static int error_of_system(sqlite3 *db, int last)
{
    int error = sqlite3_system_errno(db);
    return error == 0 && sqlite3_errcode(db) == SQLITE_IOERR ? last : error;
}

void store_health_failed(struct store *store, size_t bytes)
{
    struct store_health *health = &store->health;
    int error = error_of_system(store->db, errno);
    uint64_t now_ms = sys_real.now_ms();
    bool again =
        health->failing || (health->said_ms && now_ms - health->said_ms < SAID_AGAIN_MS);
    health->failing = true;
    health->full = statement_lacks_room(store, error);
    health->bytes = bytes > health->bytes ? bytes : health->bytes;
    snprintf(health->why, sizeof health->why, "%.80s%s%.80s", sqlite3_errmsg(store->db),
             error ? ": " : "", error ? strerror(error) : "");
    if (!again) {
        health->said = true;
        health->said_ms = now_ms;
        log_error(&to_stderr, "store.failing", "reason=\"%s\"", health->why);
    }
}

void store_health_wrote(struct store *store, size_t bytes)
{
    struct store_health *health = &store->health;
    if (health->failing && bytes >= health->bytes) {
        health->failing = health->full = false;
        health->bytes = 0;
        if (health->said) {
            log_info(&to_stderr, "store.works", "after_ms=%llu",
                     (unsigned long long)(sys_real.now_ms() - health->said_ms));
        }
        health->said = false;
    }
}

static void store_health_say_away(struct store_health *health, const char *path)
{
    char name[200];
    message_escape(path, name, sizeof name);
    snprintf(health->why_away, sizeof health->why_away,
             "%.*s%s: removed or replaced while in use (put it back, or restart the "
             "backend)",
             MESSAGE_VALUE(name, 150));
    health->away = true;
    health->away_ms = sys_real.now_ms();
    log_error(&to_stderr, "store.failing", "reason=\"%s\"", health->why_away);
}

bool store_health_look(struct store *store)
{
    struct store_health *health = &store->health;
    const struct store_file *gone = !store_file_is_there(&store->file)  ? &store->file
                                    : !store_file_is_there(&store->wal) ? &store->wal
                                                                        : NULL;
    if (gone && !health->away) {
        store_health_say_away(health, gone->path);
    } else if (!gone && health->away) {
        health->away = false;
        log_info(&to_stderr, "store.works", "after_ms=%llu",
                 (unsigned long long)(sys_real.now_ms() - health->away_ms));
    }
    return !gone;
}

const char *store_health_why(const struct store *store)
{
    return store->health.away      ? store->health.why_away
           : store->health.failing ? store->health.why
                                   : NULL;
}

bool store_health_is_away(const struct store *store)
{
    return store->health.away;
}

bool store_health_is_full(const struct store *store)
{
    return store->health.full && !store->health.away;
}

/* Writes what failed once more, as zeros that belong to no session. */
static void try_again(struct store *store)
{
    size_t bytes = store->health.bytes;
    sqlite3_stmt *s = statement_use(store, S_TRY);
    sqlite3_bind_int64(s, 1, (int64_t)bytes);
    if (!statement_run(s)) {
        store_health_failed(store, bytes);
    } else if (!statement_run(statement_use(store, S_TRIED))) {
        store_health_failed(store, 0);
    } else {
        store_health_wrote(store, bytes);
    }
}

const char *store_health_ask(struct store *store)
{
    uint64_t now_ms = sys_real.now_ms();
    if (store_health_look(store) && store->health.failing &&
        now_ms - store->health.asked_ms >= ASKED_AGAIN_MS) {
        store->health.asked_ms = now_ms;
        try_again(store);
    }
    return store_health_why(store);
}
