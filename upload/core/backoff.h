/* SPDX-License-Identifier: Apache-2.0 */
/* Exponential backoff with full jitter, and the token bucket of requests. */
#ifndef GPUFL_UPLOAD_CORE_BACKOFF_H
#define GPUFL_UPLOAD_CORE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sys.h"

/** Milliseconds to wait after \p failures failures in a row: \p minimum_ms (the server's
 * Retry-After, one hour at most) plus a random time, uniform in [0, min(cap_ms, base_ms ×
 * 2^(failures-1))] and over at least a quarter of \p minimum_ms, so that many agents
 * spread out. */
uint64_t backoff_ms(const struct sys *sys, unsigned failures, uint64_t base_ms,
                    uint64_t cap_ms, uint64_t minimum_ms);

/** A token bucket for requests; rate 0 means no limit. */
struct bucket {
    unsigned rate_per_s;
    uint64_t filled_at_ms;
    uint64_t milli_tokens;
};

void bucket_init(struct bucket *bucket, unsigned rate_per_s, uint64_t now_ms);

/** Takes one token. \return 0 if one was taken, else the ms until one is available. */
uint64_t bucket_take(struct bucket *bucket, uint64_t now_ms);

/** Returns a token that was not used. */
void bucket_return(struct bucket *bucket);

/** \return ms until a token is available; takes none. */
uint64_t bucket_wait(struct bucket *bucket, uint64_t now_ms);

/** \return 0 while a token is available, else ms until the bucket holds the tokens of a
 * tenth of a second: waiting for single tokens would mean one wake-up, sync and request
 * each. */
uint64_t bucket_wait_for_some(struct bucket *bucket, uint64_t now_ms);

#endif
