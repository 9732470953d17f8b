/* SPDX-License-Identifier: Apache-2.0 */
#include "upload/base/hash.h"

#define FNV_BASIS 2166136261u
#define FNV_PRIME 16777619u

uint32_t hash_text(uint32_t seed, const char *text)
{
    uint32_t hash = FNV_BASIS ^ seed;
    for (; *text; text++) {
        hash = (hash ^ (unsigned char)*text) * FNV_PRIME;
    }
    return hash;
}
