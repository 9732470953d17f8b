/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow by doubling. */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 16u

void *array_grown(void *array, size_t count, size_t *cap, size_t size)
{
    if (count < *cap) {
        return array;
    }
    size_t more = *cap ? 2 * *cap : FIRST_CAP;
    if (more < *cap || more > SIZE_MAX / size) {
        return NULL;
    }
    void *grown = realloc(array, more * size);
    *cap = grown ? more : *cap;
    return grown;
}

void *array_reach(void *array, size_t at, size_t *cap, size_t size)
{
    if (at < *cap) {
        return array;
    }
    size_t old = *cap;
    size_t full = at > old ? at : old;
    char *grown = full < SIZE_MAX / 2 ? array_grown(array, full, &full, size) : NULL;
    if (grown) {
        memset(grown + old * size, 0, (full - old) * size);
        *cap = full;
    }
    return grown;
}
