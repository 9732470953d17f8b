/* SPDX-License-Identifier: Apache-2.0 */
/* What goes so that the database stays within its bounds: whole sessions, the one that
 * was heard of longest ago first. */
#ifndef GPUFL_BACKEND_STORE_RETENTION_H
#define GPUFL_BACKEND_STORE_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/store/store.h"

struct retention {
    unsigned days;      /**< after the last line of a session; 0 = forever */
    uint64_t max_bytes; /**< of the database; 0 = no limit */
};

/** Takes a small step, within a few milliseconds. \return true when there is more to do.
 */
bool retention_step(struct store *store, const struct retention *retention);

/** True when a session whose last line came at \p last_seen_ms is older than
 * retention->days. */
bool retention_is_over(const struct retention *retention, int64_t last_seen_ms,
                       int64_t now_ms);

/** True when the database is full and only \p session itself could go. */
bool retention_is_full(struct store *store, const struct retention *retention,
                       const char *session);

#endif
