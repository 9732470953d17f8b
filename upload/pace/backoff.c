/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting times after failures. */
#include "upload/pace/backoff.h"

/* A server that asks for a longer pause than this is asked again after it. */
#define MINIMUM_CAP_MS 3600000u

uint64_t backoff_ms(const struct sys *sys, unsigned failures, uint64_t base_ms,
                    uint64_t cap_ms, uint64_t minimum_ms)
{
    uint64_t span = base_ms;
    for (unsigned i = 1; i < failures && span < cap_ms; i++) {
        span *= 2;
    }
    span = span < cap_ms ? span : cap_ms;
    uint64_t minimum = minimum_ms < MINIMUM_CAP_MS ? minimum_ms : MINIMUM_CAP_MS;
    if (span < minimum / 4) {
        span =
            minimum / 4; /* clients that were told the same delay come back spread out */
    }
    uint64_t random;
    sys->random(&random, sizeof random);
    return minimum + random % (span + 1);
}
