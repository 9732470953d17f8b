/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the monotonic clock and the session's anchor. */
#include "collector-lib/core/clock.h"

#include <time.h>

#define ANCHOR_TRIES 16

static int64_t read_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_mono_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_anchor_ns(void)
{
    int64_t best_width = INT64_MAX;
    int64_t anchor = 0;
    for (int i = 0; i < ANCHOR_TRIES; i++) {
        int64_t before = clock_mono_ns();
        int64_t real = read_ns(CLOCK_REALTIME);
        int64_t after = clock_mono_ns();
        if (after - before < best_width) {
            best_width = after - before;
            anchor = real - (before + best_width / 2);
        }
    }
    return anchor;
}
