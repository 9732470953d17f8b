/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the clock of the day with one that is never set, also over restarts. */
#include "backend/store/store_clock.h"

#include <stdlib.h>

#include "backend/store/store_health.h"
#include "backend/store/store_statement.h"
#include "base/boot_id.h"
#include "base/log.h"

/* What is less is a correction, and makes no session too old. */
#define CLOCK_SET_MS 60000
/* What is less is not worth a write. */
#define CLOCK_SAME_MS 1000

bool store_clock_shows_time(int64_t wall_ms)
{
    return wall_ms >= STORE_CLOCK_NEVER_SET_MS;
}

/* What an earlier run saw in this boot. */
static gpufl_status clock_read(struct store *store)
{
    char boot[BOOT_ID_TEXT];
    boot_id_get(boot);
    sqlite3_stmt *s = statement_use(store, S_CLOCK);
    statement_bind_text(s, 1, boot);
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW && *boot) {
        store->clock = (struct store_clock){
            .known = sqlite3_column_type(s, 0) != SQLITE_NULL,
            .unset = sqlite3_column_type(s, 1) != SQLITE_NULL,
            .offset_ms = sqlite3_column_int64(s, 0),
            .unset_offset_ms = sqlite3_column_int64(s, 1),
        };
    }
    sqlite3_reset(s);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? GPUFL_OK : GPUFL_ERR_IO;
}

static bool clock_note(struct store *store, const struct store_clock *clock)
{
    char boot[BOOT_ID_TEXT];
    boot_id_get(boot);
    sqlite3_stmt *s = statement_use(store, S_CLOCK_NOTE);
    statement_bind_text(s, 1, boot);
    if (clock->known) {
        sqlite3_bind_int64(s, 2, clock->offset_ms);
    }
    if (clock->unset) {
        sqlite3_bind_int64(s, 3, clock->unset_offset_ms);
    }
    return statement_run(s);
}

static bool clock_move_one(struct store *store, enum statement which, int64_t by_ms,
                           int64_t above_ms, int64_t upto_ms)
{
    sqlite3_stmt *s = statement_use(store, which);
    sqlite3_bind_int64(s, 1, by_ms);
    sqlite3_bind_int64(s, 2, above_ms);
    sqlite3_bind_int64(s, 3, upto_ms);
    return statement_run(s);
}

static bool clock_move(struct store *store, int64_t by_ms, int64_t above_ms,
                       int64_t upto_ms)
{
    return clock_move_one(store, S_MOVE_SEEN, by_ms, above_ms, upto_ms) &&
           clock_move_one(store, S_MOVE_TOLD, by_ms, above_ms, upto_ms);
}

/* By how much it was set; 0 = it was not. */
static int64_t clock_set_by(const struct store_clock *was, const struct store_clock *is)
{
    int64_t by_ms = was->known && is->known ? is->offset_ms - was->offset_ms : 0;
    return llabs(by_ms) >= CLOCK_SET_MS ? by_ms : 0;
}

/* Forward: all that was noted until then. Back: what would be in the future; what is
 * later than the clock has shown in this boot was noted in one before. */
static bool clock_follow_set(struct store *store, const struct store_clock *is,
                             int64_t wall_ms)
{
    int64_t by_ms = clock_set_by(&store->clock, is);
    int64_t above_ms = by_ms > 0 ? STORE_CLOCK_NEVER_SET_MS - 1 : wall_ms;
    return by_ms == 0 || clock_move(store, by_ms, above_ms, wall_ms - by_ms);
}

/* How long ago it was that something was heard while the clock showed no time is known in
 * that boot alone. What is left of another one has its days from now on. */
static bool clock_follow_first_set(struct store *store, const struct store_clock *is,
                                   int64_t wall_ms, int *left)
{
    const struct store_clock *was = &store->clock;
    int64_t by_ms = is->offset_ms - was->unset_offset_ms;
    int64_t upto_ms = wall_ms - by_ms;
    bool ok = !was->unset || store_clock_shows_time(upto_ms) ||
              clock_move(store, by_ms, INT64_MIN, upto_ms);
    sqlite3_stmt *s = statement_use(store, S_SEEN_AT);
    sqlite3_bind_int64(s, 1, wall_ms);
    sqlite3_bind_int64(s, 2, STORE_CLOCK_NEVER_SET_MS);
    ok = ok && statement_run(s);
    *left = ok ? sqlite3_changes(store->db) : 0;
    s = statement_use(store, S_FORGET_TOLD);
    sqlite3_bind_int64(s, 1, STORE_CLOCK_NEVER_SET_MS);
    return ok && statement_run(s);
}

/* All in one transaction, or it would be done twice after a crash. */
static gpufl_status clock_write(struct store *store, const struct store_clock *is,
                                int64_t wall_ms, int *left)
{
    bool begun = statement_run(statement_use(store, S_BEGIN));
    bool ok = begun && (!store_clock_shows_time(wall_ms) ||
                        (clock_follow_set(store, is, wall_ms) &&
                         clock_follow_first_set(store, is, wall_ms, left)));
    ok = ok && clock_note(store, is) && statement_run(statement_use(store, S_COMMIT));
    if (!ok) {
        store_health_failed(store, 0);
        if (begun) {
            statement_run(statement_use(store, S_ROLLBACK));
        }
    }
    return ok ? GPUFL_OK : GPUFL_ERR_IO;
}

static void clock_say(const struct store_clock *was, const struct store_clock *is,
                      int left)
{
    static const struct log to_stderr = {.level = LOG_AT_INFO, .write = log_to_stderr};
    int64_t by_ms = was->unset && !is->unset ? is->offset_ms - was->unset_offset_ms
                                             : clock_set_by(was, is);
    if (by_ms) {
        log_info(&to_stderr, "store.clock_set",
                 "seconds=%lld note=\"the clock was set: how long ago sessions were "
                 "heard of stays as it is\"",
                 (long long)(by_ms / 1000));
    }
    if (left) {
        log_info(&to_stderr, "store.clock_set",
                 "sessions=%d note=\"they were heard of in an earlier boot, before its "
                 "clock was set: they are taken for heard of now\"",
                 left);
    }
}

static struct store_clock clock_now(const struct store_clock *was, int64_t wall_ms,
                                    int64_t offset_ms)
{
    struct store_clock is = *was;
    is.looked = true;
    if (store_clock_shows_time(wall_ms)) {
        is.known = true;
        is.unset = false;
        is.offset_ms = offset_ms;
    } else if (!was->unset) {
        is.unset = true; /* until it is right */
        is.unset_offset_ms = offset_ms;
    }
    return is;
}

gpufl_status store_follow_clock(struct store *store, int64_t wall_ms, int64_t steady_ms)
{
    if (!store->clock.looked && clock_read(store) != GPUFL_OK) {
        return GPUFL_ERR_IO;
    }
    const struct store_clock was = store->clock;
    const struct store_clock is = clock_now(&was, wall_ms, wall_ms - steady_ms);
    if (was.looked && was.known == is.known && was.unset == is.unset &&
        llabs(is.offset_ms - was.offset_ms) < CLOCK_SAME_MS) {
        return GPUFL_OK;
    }
    int left = 0;
    gpufl_status status = clock_write(store, &is, wall_ms, &left);
    if (status == GPUFL_OK) {
        store->clock = is;
        clock_say(&was, &is, left);
    }
    return status;
}
