/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers the calls made in scopes, and the paths of these. */
#include "collector-lib/trace/launches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 1024

bool launches_init(struct launches *l)
{
    l->slot = calloc(LAUNCHES_SLOTS, sizeof *l->slot);
    l->paths = names_new();
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
    char path[PATH_BYTES];
    size_t len;
    const char *stored;
    snprintf(path, sizeof path, "%s%s%s", launches_path(l, parent), parent ? "|" : "",
             name);
    uint64_t hash = names_hash(path, &len);
    return names_intern(l->paths, path, hash, len, &stored);
}

void launches_call(struct launches *l, const struct row *row, uint32_t path_id)
{
    l->slot[row->name_id % LAUNCHES_SLOTS] = (struct launch){.instance = row->instance,
                                                             .path_id = path_id,
                                                             .stack_id = row->stack_id,
                                                             .correlation = row->name_id,
                                                             .external_kind = row->type,
                                                             .external_id = row->value};
}

struct launch launches_find(const struct launches *l, uint32_t correlation)
{
    const struct launch *slot = &l->slot[correlation % LAUNCHES_SLOTS];
    return slot->correlation == correlation ? *slot : (struct launch){0};
}

const char *launches_path(const struct launches *l, uint32_t path_id)
{
    return path_id ? l->paths->name[path_id] : "";
}
