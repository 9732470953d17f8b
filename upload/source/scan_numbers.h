/* SPDX-License-Identifier: Apache-2.0 */
/* A set of the numbers that files of the 1.1 layout have. */
#ifndef GPUFL_UPLOAD_SOURCE_SCAN_NUMBERS_H
#define GPUFL_UPLOAD_SOURCE_SCAN_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

/** Highest number that is read in the shifting layout; its writers delete beyond 100. */
#define SCAN_SHIFTING_MAX 101u

/** Empty if all zero. */
struct scan_numbers {
    uint64_t bits[2];
};

/** Higher numbers than SCAN_SHIFTING_MAX are left out. */
static inline void scan_numbers_add(struct scan_numbers *numbers, uint32_t number)
{
    if (number <= SCAN_SHIFTING_MAX) {
        numbers->bits[number / 64] |= UINT64_C(1) << number % 64;
    }
}

static inline void scan_numbers_remove(struct scan_numbers *numbers, uint32_t number)
{
    if (number <= SCAN_SHIFTING_MAX) {
        numbers->bits[number / 64] &= ~(UINT64_C(1) << number % 64);
    }
}

static inline bool scan_numbers_has(const struct scan_numbers *numbers, uint32_t number)
{
    return number <= SCAN_SHIFTING_MAX && numbers->bits[number / 64] >> number % 64 & 1;
}

static inline uint32_t scan_numbers_count(const struct scan_numbers *numbers)
{
    return (uint32_t)(__builtin_popcountll(numbers->bits[0]) +
                      __builtin_popcountll(numbers->bits[1]));
}

/** \return the highest of them; 0 = there is none. */
static inline uint32_t scan_numbers_highest(const struct scan_numbers *numbers)
{
    uint32_t number = SCAN_SHIFTING_MAX;
    while (number && !scan_numbers_has(numbers, number)) {
        number--;
    }
    return number;
}

/** \return the lowest of them; 0 = there is none. */
static inline uint32_t scan_numbers_lowest(const struct scan_numbers *numbers)
{
    uint32_t number = 1;
    while (number <= SCAN_SHIFTING_MAX && !scan_numbers_has(numbers, number)) {
        number++;
    }
    return number <= SCAN_SHIFTING_MAX ? number : 0;
}

#endif
