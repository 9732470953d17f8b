/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers the calls made in scopes, and the paths of these. */
#include "collector-lib/trace/launches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Within them, it is known whether a call took the place of another one. Beyond them,
 * every call that is not found counts as forgotten. Ids wrap around: what seems to be
 * ROUNDS_MAX older is newer. */
#define ROUNDS     16u
#define ROUNDS_MAX ((1u << 31) / LAUNCHES_SLOTS)

bool launches_init(struct launches *l)
{
    *l = (struct launches){.slot = calloc(LAUNCHES_SLOTS, sizeof *l->slot),
                           .paths = names_new()};
    if (!l->slot || !l->paths) {
        launches_fini(l);
        return false;
    }
    return true;
}

void launches_fini(struct launches *l)
{
    free(l->slot);
    names_free(l->paths);
    memset(l, 0, sizeof *l);
}

uint32_t launches_path_below(struct launches *l, uint32_t parent, const char *name)
{
    char path[LAUNCHES_PATH_BYTES + 1];
    size_t len;
    const char *stored = NULL;
    int whole = snprintf(path, sizeof path, "%s%s%s", launches_path(l, parent),
                         parent ? "|" : "", name);
    uint64_t hash = names_hash(path, SIZE_MAX, &len);
    uint32_t id = names_intern(l->paths, path, hash, len, &stored);
    bool below_other = parent && parent == l->paths->other_id;
    l->paths_lost +=
        (size_t)whole != len || !stored || strcmp(stored, path) != 0 || below_other;
    return id;
}

/* Rounds of the slots from the call \p older to \p newer, which have the same one. */
static uint32_t rounds_between(uint32_t older, uint32_t newer)
{
    return (newer - older) / LAUNCHES_SLOTS;
}

static uint16_t replaced_by(const struct launch *slot, uint32_t correlation)
{
    uint32_t rounds = rounds_between(slot->correlation, correlation);
    if (!slot->correlation || rounds > ROUNDS) {
        return 0;
    }
    return rounds ? (uint16_t)((slot->replaced << 1 | 1) << (rounds - 1))
                  : slot->replaced;
}

void launches_call(struct launches *l, const struct row *row, uint32_t path_id)
{
    struct launch *slot = &l->slot[row->name_id % LAUNCHES_SLOTS];
    *slot = (struct launch){.instance = row->instance,
                            .path_id = path_id,
                            .stack_id = row->stack_id,
                            .correlation = row->name_id,
                            .replaced = replaced_by(slot, row->name_id),
                            .external_kind = row->type,
                            .external_id = row->value};
}

struct launch launches_find(struct launches *l, uint32_t correlation)
{
    const struct launch *slot = &l->slot[correlation % LAUNCHES_SLOTS];
    if (slot->correlation == correlation) {
        return *slot;
    }
    uint32_t rounds = rounds_between(correlation, slot->correlation);
    if (slot->correlation && rounds < ROUNDS_MAX) {
        l->calls_lost += rounds > ROUNDS || (slot->replaced >> (rounds - 1) & 1);
    }
    return (struct launch){0};
}

const char *launches_path(const struct launches *l, uint32_t path_id)
{
    return path_id ? l->paths->name[path_id] : "";
}
