/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a in 32 and 64 bits. */
#include "base/hash.h"

#define FNV32_BASIS 2166136261u
#define FNV32_PRIME 16777619u

uint32_t hash_text(uint32_t seed, const char *text)
{
    uint32_t hash = FNV32_BASIS ^ seed;
    for (; *text; text++) {
        hash = (hash ^ (unsigned char)*text) * FNV32_PRIME;
    }
    return hash;
}

uint64_t hash64_bytes(uint64_t hash, const void *data, size_t len)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < len; i++) {
        hash = hash64_word(hash, byte[i]);
    }
    return hash;
}
