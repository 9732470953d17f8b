/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/), for tables and for telling files
 * apart; not against somebody who chooses the input. */
#ifndef GPUFL_BASE_HASH_H
#define GPUFL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/** The 64-bit hash of nothing: where hash64_* begin. */
#define HASH64_BASIS 0xcbf29ce484222325u

/** 32-bit hash of \p text; another \p seed, another hash. */
uint32_t hash_text(uint32_t seed, const char *text);

/** 64-bit hash of \p len bytes, continued from \p hash. */
uint64_t hash64_bytes(uint64_t hash, const void *data, size_t len);

/** 64-bit hash of one whole word, continued from \p hash: faster than its eight bytes and
 *  another hash than theirs. */
static inline uint64_t hash64_word(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * 0x100000001b3u;
}

#endif
