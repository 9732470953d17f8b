/* SPDX-License-Identifier: Apache-2.0 */
/* A list of ids, and a bit for each. */
#include "collector-lib/core/name_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

bool name_set_has(const struct name_set *set, uint32_t id)
{
    return id / 8 < set->bytes && set->bit[id / 8] & (1u << id % 8);
}

void name_set_add(struct name_set *set, uint32_t id)
{
    if (name_set_has(set, id)) {
        return;
    }
    uint8_t *bit = array_reach(set->bit, id / 8, &set->bytes, 1);
    set->bit = bit ? bit : set->bit;
    uint32_t *ids = array_grown(set->id, set->count, &set->cap, sizeof *ids);
    set->id = ids ? ids : set->id;
    if (bit && ids) {
        set->id[set->count++] = id;
        set->bit[id / 8] |= (uint8_t)(1u << id % 8);
    }
}

void name_set_clear(struct name_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        set->bit[set->id[i] / 8] = 0;
    }
    set->count = 0;
}

void name_set_fini(struct name_set *set)
{
    free(set->id);
    free(set->bit);
    memset(set, 0, sizeof *set);
}
