/* SPDX-License-Identifier: Apache-2.0 */
/* Counts events of each owner. All come through one queue: who makes more of them than
 * are worth following is polled for a while, so that those of others are not lost. */
#ifndef GPUFL_AGENT_WATCH_RATE_H
#define GPUFL_AGENT_WATCH_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/shares.h"

/** So many events of one owner's directories are followed in each second: some thousand
 * sessions make them. */
#define WATCH_EVENTS_OF_OWNER 65536u
/** So many of the roots themselves. Each may be a directory to be looked at. */
#define WATCH_EVENTS_OF_ROOTS 2048u

/** Zero-initialise. */
struct watch_rate {
    struct shares events; /**< of this second */
    uint64_t ends_ms;
};

/** The time of a clock that is never set. */
uint64_t watch_rate_now_ms(void);

/** Counts an event of \p owner. \return false if there are too many. */
bool watch_rate_spend(struct watch_rate *rate, uint32_t owner);

/** \return true if there may be more of \p owner. */
bool watch_rate_has_room(const struct watch_rate *rate, uint32_t owner);

/** Begins to count anew, once a second. \return whether it did. */
bool watch_rate_turn(struct watch_rate *rate, uint64_t now_ms);

void watch_rate_close(struct watch_rate *rate);

#endif
