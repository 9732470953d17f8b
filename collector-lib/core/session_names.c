/* SPDX-License-Identifier: Apache-2.0 */
/* A list and a set of ids. */
#include "collector-lib/core/session_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void session_names_use(struct session_names *names, uint32_t id)
{
    uint8_t bit = (uint8_t)(1u << id % 8);
    if (names->used[id / 8] & bit) {
        return;
    }
    uint32_t *grown =
        array_grown(names->id, names->count, &names->cap, sizeof *names->id);
    if (grown) {
        names->id = grown;
        names->id[names->count++] = id;
        names->used[id / 8] |= bit;
    }
}

void session_names_fini(struct session_names *names)
{
    free(names->id);
    memset(names, 0, sizeof *names);
}
