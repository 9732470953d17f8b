/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes the database. */
#include "backend/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/store/store_lock.h"
#include "backend/store/store_statement.h"

#define IN_MEMORY ":memory:" /* SQLite's name for it */

/* With errno's text where a system call failed. */
static void say_why(sqlite3 *db, const char *path, bool foreign, char why[256])
{
    int error = sqlite3_system_errno(db);
    if (foreign) {
        snprintf(why, 256, "%.120s: created by another version (name another file)",
                 path);
    } else {
        snprintf(why, 256, "%.120s: %.60s%s%.60s", path, sqlite3_errmsg(db),
                 error ? ": " : "", error ? strerror(error) : "");
    }
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
    bool opened = sqlite3_open(path, &store->db) == SQLITE_OK &&
                  sqlite3_busy_timeout(store->db, 5000) == SQLITE_OK;
    bool fits = opened && statement_version_fits(store->db);
    if (!fits || !statement_prepare_all(store)) {
        bool foreign = opened && !fits && sqlite3_errcode(store->db) == SQLITE_OK;
        say_why(store->db, path, foreign, why);
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
    statement_finalize_all(store);
    sqlite3_close(store->db);
    if (store->lock_fd >= 0) {
        close(store->lock_fd);
    }
    free(store);
}
