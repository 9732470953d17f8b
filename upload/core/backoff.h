/* SPDX-License-Identifier: Apache-2.0 */
/* Exponential backoff with full jitter, and the token bucket of requests. */
#ifndef GPUFL_UPLOAD_CORE_BACKOFF_H
#define GPUFL_UPLOAD_CORE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sys.h"

/** Milliseconds to wait after \p failures failures in a row: uniform in
 *  [0, min(cap_ms, base_ms × 2^(failures-1))], so that many agents spread out; on top
 *  of \p minimum_ms (a server's Retry-After, of which an hour counts at most), then
 *  over a quarter of it at least. */
uint64_t backoff_ms(const struct sys *sys, unsigned failures, uint64_t base_ms,
                    uint64_t cap_ms, uint64_t minimum_ms);

/** A bucket of requests. rate 0 = without limit. */
struct bucket {
    unsigned rate_per_s;
    uint64_t filled_at_ms;
    uint64_t milli_tokens;
};

void bucket_init(struct bucket *bucket, unsigned rate_per_s, uint64_t now_ms);

/** Takes one token. \return 0 when taken, else the ms until one is there. */
uint64_t bucket_take(struct bucket *bucket, uint64_t now_ms);

/** Gives a token back that was not used. */
void bucket_return(struct bucket *bucket);

/** Ms until a token is there; takes none. */
uint64_t bucket_wait(struct bucket *bucket, uint64_t now_ms);

/** 0 while a token is there, else ms until the bucket holds a tenth of a second's: who
 * waits for each one wakes, syncs and sends for each one. */
uint64_t bucket_wait_for_some(struct bucket *bucket, uint64_t now_ms);

#endif
