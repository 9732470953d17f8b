/* SPDX-License-Identifier: Apache-2.0 */
/* When sessions were last heard of, by a clock of the day that may be set. */
#ifndef GPUFL_BACKEND_STORE_STORE_CLOCK_H
#define GPUFL_BACKEND_STORE_STORE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "backend/store/store.h"

/** A clock from before 2025 is one that was never set, and shows no time. */
#define STORE_CLOCK_NEVER_SET_MS 1735689600000

/** \return false if a clock that shows \p wall_ms was never set. */
bool store_clock_shows_time(int64_t wall_ms);

/** Where the clock of the day was set since the last call, by a minute or more, moves the
 * times at which sessions were heard of by as much: how long ago that was stays what it
 * is. Otherwise a session would be deleted, or be the last to go for years, because a
 * host's clock was wrong. The last call may be that of an earlier run in this boot. In a
 * later one, nothing tells how long ago it was that a clock showed no time: what was
 * heard then counts as heard now. \p steady_ms: of a clock that is never set. \return
 * GPUFL_OK, or GPUFL_ERR_IO: the next call tries again. */
GPUFL_MUST gpufl_status store_follow_clock(struct store *store, int64_t wall_ms,
                                           int64_t steady_ms);

#endif
