/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts of shares, which are forgotten every second. */
#include "agent/watch/watch_rate.h"

#include <time.h>

#include "agent/watch/watch_places.h"

#define SECOND_MS 1000u

uint64_t watch_rate_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_MS + (uint64_t)now.tv_nsec / 1000000;
}

bool watch_rate_has_room(const struct watch_rate *rate, uint32_t owner)
{
    return shares_of(&rate->events, owner) <
           (owner == WATCH_ROOTS ? WATCH_EVENTS_OF_ROOTS : WATCH_EVENTS_OF_OWNER);
}

bool watch_rate_spend(struct watch_rate *rate, uint32_t owner)
{
    if (!watch_rate_has_room(rate, owner)) {
        return false;
    }
    shares_add(&rate->events, owner, 1);
    return true;
}

bool watch_rate_turn(struct watch_rate *rate, uint64_t now_ms)
{
    if (now_ms < rate->ends_ms) {
        return false;
    }
    rate->ends_ms = now_ms + SECOND_MS;
    watch_rate_close(rate);
    rate->events.amount = 0;
    return true;
}

void watch_rate_close(struct watch_rate *rate)
{
    shares_close(&rate->events);
}
