/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the scopes of each thread and remembers the calls made in them. */
#include "collector-lib/trace/launches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define PATH_BYTES 1024

struct launches_ring {
    struct {
        uint64_t instance;
        uint32_t path_id;
    } at[LAUNCHES_DEPTH]; /* open scopes, by depth */
};

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
    free(l->ring);
    names_free(l->paths);
    memset(l, 0, sizeof *l);
}

static struct launches_ring *ring_of(struct launches *l, uint32_t id)
{
    void *at = array_reach(l->ring, id, &l->rings, sizeof *l->ring);
    l->ring = at ? at : l->ring;
    return at ? &l->ring[id] : NULL;
}

static uint32_t path_below(struct launches *l, uint32_t parent, const char *name)
{
    char path[PATH_BYTES];
    size_t len;
    const char *stored;
    snprintf(path, sizeof path, "%s%s%s", launches_path(l, parent), parent ? "|" : "",
             name);
    uint64_t hash = names_hash(path, &len);
    return names_intern(l->paths, path, hash, len, &stored);
}

void launches_row(struct launches *l, const struct row *row, const struct names *names)
{
    bool begins = row->kind == ROW_SCOPE_BEGIN && row->depth < LAUNCHES_DEPTH;
    bool call = row->kind == ROW_CALL;
    struct launches_ring *ring = begins || call ? ring_of(l, row->ring_id) : NULL;
    if (!ring) {
        return;
    }
    if (begins) {
        uint32_t parent = row->depth ? ring->at[row->depth - 1].path_id : 0;
        ring->at[row->depth].instance = row->instance;
        ring->at[row->depth].path_id = path_below(l, parent, names->name[row->name_id]);
        return;
    }
    struct launch launch = {.instance = row->instance,
                            .stack_id = row->stack_id,
                            .correlation = row->name_id,
                            .external_kind = row->type,
                            .external_id = row->value,
                            .depth = row->depth};
    size_t depth = row->depth <= LAUNCHES_DEPTH ? row->depth : LAUNCHES_DEPTH;
    if (depth > 0 && ring->at[depth - 1].instance == row->instance) {
        launch.path_id = ring->at[depth - 1].path_id;
    }
    l->slot[row->name_id % LAUNCHES_SLOTS] = launch;
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
