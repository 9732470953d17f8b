/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes the database. */
#include "backend/store/store.h"

#include <stdio.h>
#include <stdlib.h>

#include "backend/store/store_statement.h"

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
    bool fits = opened && statement_version_fits(store->db);
    if (!fits || !statement_prepare_all(store)) {
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
    statement_finalize_all(store);
    sqlite3_close(store->db);
    free(store);
}
