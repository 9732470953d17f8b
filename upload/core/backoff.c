/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting times and the request budget. */
#include "upload/core/backoff.h"

/* A burst of a fifth of a second's requests, at least two. */
#define SOME_PART  10u
#define BURST_PART 5u

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

static uint64_t bucket_burst(const struct bucket *bucket)
{
    uint64_t tokens = bucket->rate_per_s / BURST_PART;
    return (tokens < 2 ? 2 : tokens) * 1000;
}

void bucket_init(struct bucket *bucket, unsigned rate_per_s, uint64_t now_ms)
{
    *bucket = (struct bucket){.rate_per_s = rate_per_s, .filled_at_ms = now_ms};
    bucket->milli_tokens = bucket_burst(bucket);
}

static void bucket_fill(struct bucket *bucket, uint64_t now_ms)
{
    uint64_t passed = now_ms - bucket->filled_at_ms;
    if (passed > 1000) {
        passed = 1000; /* the bucket is full by then; this also keeps the product small */
    }
    bucket->milli_tokens += passed * bucket->rate_per_s;
    bucket->filled_at_ms = now_ms;
    if (bucket->milli_tokens > bucket_burst(bucket)) {
        bucket->milli_tokens = bucket_burst(bucket);
    }
}

uint64_t bucket_wait(struct bucket *bucket, uint64_t now_ms)
{
    if (bucket->rate_per_s == 0) {
        return 0;
    }
    bucket_fill(bucket, now_ms);
    if (bucket->milli_tokens >= 1000) {
        return 0;
    }
    return (1000 - bucket->milli_tokens + bucket->rate_per_s - 1) / bucket->rate_per_s;
}

uint64_t bucket_wait_for_some(struct bucket *bucket, uint64_t now_ms)
{
    uint64_t one = bucket_wait(bucket, now_ms);
    uint64_t more = bucket->rate_per_s / SOME_PART;
    return one == 0 || more < 2 ? one : one + (more - 1) * 1000 / bucket->rate_per_s;
}

uint64_t bucket_take(struct bucket *bucket, uint64_t now_ms)
{
    uint64_t wait = bucket_wait(bucket, now_ms);
    if (wait == 0 && bucket->rate_per_s) {
        bucket->milli_tokens -= 1000;
    }
    return wait;
}

void bucket_return(struct bucket *bucket)
{
    bucket->milli_tokens += 1000;
}
