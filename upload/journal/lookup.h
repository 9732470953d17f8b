/* SPDX-License-Identifier: Apache-2.0 */
/* Finds elements of an array that grows by the hash of what they are called. */
#ifndef GPUFL_UPLOAD_JOURNAL_LOOKUP_H
#define GPUFL_UPLOAD_JOURNAL_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** There is no such element, or no further one. */
#define LOOKUP_NONE SIZE_MAX

struct lookup_link {
    uint32_t hash;
    uint32_t next; /**< number of the one before in the same bucket, plus one; 0 = none */
};

/** All zero when empty. */
struct lookup {
    uint32_t *bucket;         /**< number of its newest element, plus one; 0 = none */
    size_t buckets;           /**< a power of two, or 0 */
    struct lookup_link *link; /**< of each element */
    size_t count;
    size_t cap;
};

/** Adds the element with the number \p lookup->count. \return false without memory. */
bool lookup_add(struct lookup *lookup, uint32_t hash);

/** \return the number of the newest element with \p hash, or LOOKUP_NONE. Others may have
 * the same hash: compare it. */
size_t lookup_first(const struct lookup *lookup, uint32_t hash);

/** \return the number of the next older element with the hash of number \p at, or
 * LOOKUP_NONE. */
size_t lookup_next(const struct lookup *lookup, size_t at);

void lookup_close(struct lookup *lookup);

#endif
