/* SPDX-License-Identifier: Apache-2.0 */
/* The token bucket of requests that are not full. */
#ifndef GPUFL_UPLOAD_PACE_BUCKET_H
#define GPUFL_UPLOAD_PACE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

/** A token bucket for requests; rate 0 means no limit. */
struct bucket {
    unsigned rate_per_s;
    uint64_t filled_at_ms;
    int64_t milli_tokens; /**< less than 0 while tokens are owed */
};

void bucket_init(struct bucket *bucket, unsigned rate_per_s, uint64_t now_ms);

/** Takes one token. \return 0 if one was taken, else the ms until one is available. */
uint64_t bucket_take(struct bucket *bucket, uint64_t now_ms);

/** \return true unless a burst of tokens is owed. */
bool bucket_may_owe(struct bucket *bucket, uint64_t now_ms);

/** Takes one that may not be there yet: the next ones wait for it. */
void bucket_owe(struct bucket *bucket);

/** Returns a token that was not used. */
void bucket_return(struct bucket *bucket);

/** \return ms until a token is available; takes none. */
uint64_t bucket_wait(struct bucket *bucket, uint64_t now_ms);

/** \return 0 while a token is available, else ms until the bucket holds the tokens of a
 * tenth of a second: waiting for single tokens would mean one wake-up, sync and request
 * each. */
uint64_t bucket_wait_for_some(struct bucket *bucket, uint64_t now_ms);

#endif
