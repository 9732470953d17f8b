/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table with chaining, of numbers. */
#include "upload/journal/lookup.h"

#include <stdlib.h>

#include "base/array.h"

#define LOOKUP_BUCKETS_AT_FIRST 64u

static void lookup_put(struct lookup *lookup, size_t at)
{
    uint32_t *bucket = &lookup->bucket[lookup->link[at].hash & (lookup->buckets - 1)];
    lookup->link[at].next = *bucket;
    *bucket = (uint32_t)(at + 1);
}

/* Doubles the number of chains once there are as many elements; without memory the chains
 * get longer. */
static bool lookup_grow(struct lookup *lookup)
{
    size_t buckets = lookup->buckets ? 2 * lookup->buckets : LOOKUP_BUCKETS_AT_FIRST;
    if (lookup->count < lookup->buckets) {
        return true;
    }
    uint32_t *more = calloc(buckets, sizeof *more);
    if (!more) {
        return lookup->buckets > 0;
    }
    free(lookup->bucket);
    lookup->bucket = more;
    lookup->buckets = buckets;
    for (size_t at = 0; at < lookup->count; at++) {
        lookup_put(lookup, at);
    }
    return true;
}

bool lookup_add(struct lookup *lookup, uint32_t hash)
{
    struct lookup_link *more =
        array_grown(lookup->link, lookup->count, &lookup->cap, sizeof *more);
    lookup->link = more ? more : lookup->link;
    if (!more || !lookup_grow(lookup)) {
        return false;
    }
    lookup->link[lookup->count].hash = hash;
    lookup_put(lookup, lookup->count++);
    return true;
}

/* The first element that has \p hash, of the chain that begins with \p next. */
static size_t lookup_from(const struct lookup *lookup, uint32_t next, uint32_t hash)
{
    while (next && lookup->link[next - 1].hash != hash) {
        next = lookup->link[next - 1].next;
    }
    return next ? next - 1 : LOOKUP_NONE;
}

size_t lookup_first(const struct lookup *lookup, uint32_t hash)
{
    return lookup->buckets
               ? lookup_from(lookup, lookup->bucket[hash & (lookup->buckets - 1)], hash)
               : LOOKUP_NONE;
}

size_t lookup_next(const struct lookup *lookup, size_t at)
{
    const struct lookup_link *link = &lookup->link[at];
    return lookup_from(lookup, link->next, link->hash);
}

void lookup_close(struct lookup *lookup)
{
    free(lookup->bucket);
    free(lookup->link);
    *lookup = (struct lookup){0};
}
