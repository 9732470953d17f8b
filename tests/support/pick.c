/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/pick.h"

static uint64_t state = 1;

void pick_seed(uint64_t seed)
{
    state = seed * 2654435761u + 1;
}

uint64_t pick(uint64_t below)
{
    /* xorshift64* (Vigna 2016) */
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (state * 2685821657736338717u >> 16) % below;
}
