/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/retention.h"

#include <string.h>
#include <time.h>

#define DAY_MS        (24 * 3600 * 1000ll)
#define BODIES_A_STEP 32u

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool is_too_large(struct store *store, const struct retention *retention)
{
    return retention->max_bytes && store_bytes(store) > retention->max_bytes;
}

static bool is_too_old(const struct store_session *oldest,
                       const struct retention *retention)
{
    return retention->days &&
           oldest->last_seen_ms < now_ms() - (int64_t)retention->days * DAY_MS;
}

bool retention_step(struct store *store, const struct retention *retention)
{
    struct store_session oldest;
    unsigned sessions;
    if ((!retention->days && !retention->max_bytes) ||
        store_oldest(store, &oldest, &sessions) != GPUFL_OK || sessions == 0) {
        return false;
    }
    /* The last one is being written to, or is all that there is to look at. */
    bool goes = is_too_old(&oldest, retention) ||
                (sessions > 1 && is_too_large(store, retention));
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
