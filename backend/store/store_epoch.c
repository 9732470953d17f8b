/* SPDX-License-Identifier: Apache-2.0 */
/* The id of a database is drawn once and lies in it; that of a start is never written, so
 * no restored copy can have it: a file that was put back, or a whole directory. */
#include "backend/store/store_epoch.h"

#include <stdio.h>

#include "backend/store/store_statement.h"
#include "base/uuid.h"

static void draw(char out[UUID_TEXT])
{
    unsigned char id[16];
    uuid_make(&sys_real, id);
    uuid_format(id, out);
}

bool store_epoch_begin(struct store *store)
{
    char id[UUID_TEXT], start[UUID_TEXT];
    draw(id);
    draw(start);
    sqlite3_stmt *s = statement_use(store, S_ORIGIN_NEW);
    statement_bind_text(s, 1, id);
    if (!statement_run(s)) {
        return false;
    }
    s = statement_use(store, S_ORIGIN);
    bool ok = sqlite3_step(s) == SQLITE_ROW;
    if (ok) {
        snprintf(store->epoch, sizeof store->epoch, "%.36s.%s",
                 (const char *)sqlite3_column_text(s, 0), start);
    }
    sqlite3_reset(s);
    return ok;
}

const char *store_epoch(const struct store *store)
{
    return store->epoch;
}
