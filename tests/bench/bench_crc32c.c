/* SPDX-License-Identifier: Apache-2.0 */
/* What a checksum costs: bytes a nanosecond over a batch of 1 MiB in the cache, by the
 * processor's instruction and by tables, beside the floor: memcpy() of the same batch. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/crc32c.h"
#include "base/crc32c_slices.h"

enum { BATCH_BYTES = 1 << 20, ROUNDS = 99, IN_ROUND = 2 };

static unsigned char batch[BATCH_BYTES], copy[BATCH_BYTES];
static volatile uint32_t kept; /* so that nothing is optimised away */

static uint32_t copied(uint32_t crc, const void *data, size_t len)
{
    memcpy(copy, data, len);
    return crc + copy[crc % BATCH_BYTES];
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The best of some rounds: anything else is other work on the machine. */
static double bytes_per_ns(uint32_t (*run)(uint32_t, const void *, size_t))
{
    double best_ns = 1e18;
    for (int r = 0; r < ROUNDS; r++) {
        double begin = now_ns();
        for (int i = 0; i < IN_ROUND; i++) {
            kept = run(kept, batch, sizeof batch);
        }
        double took_ns = now_ns() - begin;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
    }
    return (double)BATCH_BYTES * IN_ROUND / best_ns;
}

int main(void)
{
    memset(batch, 'g', sizeof batch);
    double floor = bytes_per_ns(copied);
    double fast = bytes_per_ns(crc32c), slices = bytes_per_ns(crc32c_slices);
    printf(
        "{\"bench\": \"crc32c\", \"what\": \"checksum of 1 MiB\", \"memcpy_gb_s\": %.1f, "
        "\"crc32c_gb_s\": %.1f, \"tables_gb_s\": %.1f, \"of_memcpy\": %.2f}\n",
        floor, fast, slices, fast / floor);
    return 0;
}
