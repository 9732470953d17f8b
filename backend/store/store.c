/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes the database. */
#include "backend/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/store/store_epoch.h"
#include "backend/store/store_lock.h"
#include "backend/store/store_owner.h"
#include "backend/store/store_statement.h"
#include "base/text.h"

#define IN_MEMORY ":memory:" /* SQLite's name for it */

/* With errno's text where a system call failed. */
static void say_why(const struct store *store, const char *path, enum store_owner owner,
                    char why[256])
{
    sqlite3 *db = store->db;
    int error = sqlite3_system_errno(db);
    if (owner == STORE_FOREIGN) {
        snprintf(why, 256,
                 "%.120s: a database of another application (name another "
                 "file)",
                 path);
    } else if (owner == STORE_OTHER_VERSION) {
        snprintf(why, 256, "%.120s: created by another version (name another file)",
                 path);
    } else {
        bool other = sqlite3_errcode(db) == SQLITE_NOTADB;
        snprintf(why, 256, "%.120s: %.60s%s%.60s%s", path, sqlite3_errmsg(db),
                 error ? ": " : "", error ? strerror(error) : "",
                 other                                ? " (name another file)"
                 : statement_lacks_room(store, error) ? " (free some space)"
                                                      : "");
    }
}

/* What is not ours is closed as it was: even its log is not written back. */
static bool open_own(struct store *store, const char *path, char why[256])
{
    enum store_owner owner = STORE_UNREADABLE;
    if (sqlite3_open(path, &store->db) == SQLITE_OK &&
        sqlite3_busy_timeout(store->db, 5000) == SQLITE_OK) {
        sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        owner = store_owner(store->db);
    }
    if (owner == STORE_OURS) {
        sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    }
    if (owner != STORE_OURS || !statement_prepare_all(store) ||
        !store_epoch_begin(store)) {
        say_why(store, path, owner, why);
        return false;
    }
    return true;
}

/* SQLite's log lies beside the file itself, wherever a link to it is. */
static bool note_files(struct store *store, const char *path)
{
    struct text wal = {0};
    if (store->lock_fd < 0) {
        return true;
    }
    text_printf(&wal, "%s-wal", sqlite3_db_filename(store->db, "main"));
    text_append(&wal, "", 1);
    bool ok = !wal.failed && store_file_note(&store->file, path, store->lock_fd) &&
              store_file_note(&store->wal, wal.data, -1);
    text_fini(&wal);
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
    bool in_memory = strcmp(path, IN_MEMORY) == 0;
    store->lock_fd = in_memory ? -1 : store_lock(path, why);
    if (!in_memory && store->lock_fd < 0) {
        store_close(store);
        return GPUFL_ERR_IO;
    }
    if (!open_own(store, path, why)) {
        store_close(store);
        return GPUFL_ERR_IO;
    }
    if (!note_files(store, path)) {
        snprintf(why, 256, "out of memory");
        store_close(store);
        return GPUFL_ERR_NOMEM;
    }
    *out = store;
    return GPUFL_OK;
}

void store_close(struct store *store)
{
    if (!store) {
        return;
    }
    statement_finalize_all(store);
    sqlite3_close(store->db);
    if (store->lock_fd >= 0) {
        close(store->lock_fd);
    }
    store_file_fini(&store->file);
    store_file_fini(&store->wal);
    free(store);
}
