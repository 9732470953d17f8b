/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table with open addressing and linear probing. */
#include "collector-lib/writer/open_scopes.h"

#include <stdlib.h>

#define FIRST_CAP 256u

static size_t home_of(const struct open_scopes *s, uint64_t instance)
{
    return (size_t)(instance * 0x9e3779b97f4a7c15u >> 32) & (s->cap - 1);
}

static struct open_scope *find_scope(const struct open_scopes *s, uint64_t instance)
{
    size_t at = home_of(s, instance);
    while (s->slot[at].instance && s->slot[at].instance != instance) {
        at = (at + 1) & (s->cap - 1);
    }
    return &s->slot[at];
}

static bool double_slots(struct open_scopes *s)
{
    struct open_scope *old = s->slot;
    size_t old_cap = s->cap;
    size_t cap = old_cap ? old_cap * 2 : FIRST_CAP;
    struct open_scope *more = calloc(cap, sizeof *more);
    if (!more) {
        return false;
    }
    s->slot = more;
    s->cap = cap;
    for (size_t i = 0; i < old_cap; i++) {
        if (old[i].instance) {
            *find_scope(s, old[i].instance) = old[i];
        }
    }
    free(old);
    return true;
}

bool open_scopes_begin(struct open_scopes *s, struct open_scope scope)
{
    if (s->count * 2 >= s->cap && !double_slots(s)) {
        return false;
    }
    struct open_scope *slot = find_scope(s, scope.instance);
    s->count += slot->instance == 0;
    *slot = scope;
    return true;
}

uint32_t open_scopes_path(const struct open_scopes *s, uint64_t instance)
{
    const struct open_scope *slot = s->cap ? find_scope(s, instance) : NULL;
    return slot && slot->instance ? slot->path_id : 0;
}

/* Frees a slot and moves up what would no longer be found behind the gap. */
static void free_slot(struct open_scopes *s, struct open_scope *slot)
{
    size_t gap = (size_t)(slot - s->slot);
    size_t mask = s->cap - 1;
    for (size_t at = (gap + 1) & mask; s->slot[at].instance; at = (at + 1) & mask) {
        size_t home = home_of(s, s->slot[at].instance);
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            s->slot[gap] = s->slot[at];
            gap = at;
        }
    }
    s->slot[gap].instance = 0;
    s->count--;
}

bool open_scopes_end(struct open_scopes *s, uint64_t instance, int64_t *begin_ns)
{
    struct open_scope *slot = s->cap ? find_scope(s, instance) : NULL;
    if (!slot || !slot->instance) {
        return false;
    }
    *begin_ns = slot->begin_ns;
    free_slot(s, slot);
    return true;
}

void open_scopes_lose(struct open_scopes *s, uint64_t instance)
{
    struct open_scope *slot = s->cap ? find_scope(s, instance) : NULL;
    if (slot && slot->instance) {
        slot->begin_ns = 0;
    }
}

void open_scopes_lose_rows(struct open_scopes *s, uint64_t from, uint64_t to)
{
    for (size_t i = 0; i < s->cap; i++) {
        if (s->slot[i].row > from && s->slot[i].row <= to) {
            s->slot[i].begin_ns = 0;
        }
    }
}

void open_scopes_fini(struct open_scopes *s)
{
    free(s->slot);
    *s = (struct open_scopes){0};
}
