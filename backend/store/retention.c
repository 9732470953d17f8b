/* SPDX-License-Identifier: Apache-2.0 */
/* Deletes sessions that are too old, or too many for the database's bound. */
#include "backend/store/retention.h"

#include <string.h>

#include "backend/store/store_clock.h"
#include "backend/store/store_retention.h"
#include "backend/store/wall_clock.h"
#include "base/sys.h"

#define DAY_MS        (24 * 3600 * 1000ll)
#define BODIES_A_STEP 32u

static bool is_too_large(struct store *store, const struct retention *retention)
{
    return retention->max_bytes && store_bytes(store) > retention->max_bytes;
}

bool retention_is_over(const struct retention *retention, int64_t last_seen_ms,
                       int64_t now_ms)
{
    return retention->days && last_seen_ms < now_ms - (int64_t)retention->days * DAY_MS;
}

bool retention_step(struct store *store, const struct retention *retention)
{
    struct store_session oldest;
    unsigned sessions;
    gpufl_status followed =
        store_follow_clock(store, wall_clock_ms(), (int64_t)sys_real.now_ms());
    if ((!retention->days && !retention->max_bytes) || followed != GPUFL_OK ||
        store_oldest(store, &oldest, &sessions) != GPUFL_OK || sessions == 0) {
        return false;
    }
    /* The only session is never deleted for its size: it may still be written to. */
    bool goes = retention_is_over(retention, oldest.last_seen_ms, wall_clock_ms()) ||
                (sessions > 1 && is_too_large(store, retention));
    if (!goes) {
        store_say_deleted(store, false);
    }
    return goes && store_delete(store, oldest.id, BODIES_A_STEP) == GPUFL_OK;
}

bool retention_is_full(struct store *store, const struct retention *retention,
                       const char *session)
{
    struct store_session oldest;
    unsigned sessions;
    return is_too_large(store, retention) &&
           store_oldest(store, &oldest, &sessions) == GPUFL_OK && sessions == 1 &&
           strcmp(oldest.session, session) == 0;
}
