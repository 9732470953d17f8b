/* SPDX-License-Identifier: Apache-2.0 */
/* The budget of requests. */
#include "upload/pace/bucket.h"

/* A burst of a fifth of a second's requests, at least two. */
#define SOME_PART  10u
#define BURST_PART 5u

static int64_t bucket_burst(const struct bucket *bucket)
{
    int64_t tokens = bucket->rate_per_s / BURST_PART;
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
    if (passed > 10000) {
        passed = 10000; /* the bucket is full by then; this keeps the product small */
    }
    bucket->milli_tokens += (int64_t)(passed * bucket->rate_per_s);
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
    uint64_t lacks = (uint64_t)(1000 - bucket->milli_tokens);
    return (lacks + bucket->rate_per_s - 1) / bucket->rate_per_s;
}

uint64_t bucket_wait_for_some(struct bucket *bucket, uint64_t now_ms)
{
    uint64_t one = bucket_wait(bucket, now_ms);
    uint64_t more = bucket->rate_per_s / SOME_PART;
    return one == 0 || more < 2 ? one : one + (more - 1) * 1000 / bucket->rate_per_s;
}

bool bucket_may_owe(struct bucket *bucket, uint64_t now_ms)
{
    return bucket_wait(bucket, now_ms) == 0 ||
           bucket->milli_tokens > -bucket_burst(bucket);
}

void bucket_owe(struct bucket *bucket)
{
    if (bucket->rate_per_s) {
        bucket->milli_tokens -= 1000;
    }
}

uint64_t bucket_take(struct bucket *bucket, uint64_t now_ms)
{
    uint64_t wait = bucket_wait(bucket, now_ms);
    if (wait == 0) {
        bucket_owe(bucket);
    }
    return wait;
}

void bucket_return(struct bucket *bucket)
{
    if (bucket->rate_per_s) {
        bucket->milli_tokens += 1000;
    }
}
