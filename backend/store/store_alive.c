/* SPDX-License-Identifier: Apache-2.0 */
/* Notes when a sender last saw that the writer of a session lives. */
#include "backend/store/store_alive.h"

#include "backend/store/store_health.h"
#include "backend/store/store_statement.h"
#include "backend/store/wall_clock.h"

static bool put_alive(struct store *store, struct store_alive *alive, int64_t now_ms)
{
    sqlite3_stmt *s = statement_use(store, S_ALIVE);
    statement_bind_text(s, 1, alive->session);
    sqlite3_bind_int64(s, 2, now_ms);
    sqlite3_bind_int64(s, 3, alive->silent_ms < now_ms ? now_ms - alive->silent_ms : 0);
    bool ok = statement_run(s);
    alive->known = ok && sqlite3_changes(store->db) > 0;
    return ok;
}

gpufl_status store_alive_put(struct store *store, struct store_alive *alive, size_t count)
{
    int64_t now_ms = wall_clock_ms();
    bool written = false;
    bool begun = statement_run(statement_use(store, S_BEGIN));
    bool ok = begun;
    for (size_t i = 0; ok && i < count; i++) {
        ok = put_alive(store, &alive[i], now_ms);
        written = written || alive[i].known;
    }
    if (ok && statement_run(statement_use(store, S_COMMIT))) {
        if (written) {
            store_health_wrote(store, 0);
        }
        return GPUFL_OK;
    }
    store_health_failed(store, 0);
    if (begun) {
        statement_run(statement_use(store, S_ROLLBACK));
    }
    return GPUFL_ERR_IO;
}
