/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers the last failure of each owner, and the last successes. */
#include "upload/owners/standing.h"

#include <stddef.h>

#define ALONE_MS 60000u

static unsigned standing_set(uint32_t owner)
{
    return (owner * 2654435761u) >> 24; /* 8 bits: STANDING_SETS */
}

static const struct standing_owner *standing_find(const struct standing *s,
                                                  uint32_t owner)
{
    const struct standing_owner *set = s->owner[standing_set(owner)];
    for (unsigned i = 0; i < STANDING_OF_SETS; i++) {
        if (set[i].failed && set[i].owner == owner) {
            return &set[i];
        }
    }
    return NULL;
}

/* The one whose failure is the longest ago makes room. */
static struct standing_owner *standing_place(struct standing *s, uint32_t owner)
{
    struct standing_owner *set = s->owner[standing_set(owner)];
    struct standing_owner *place = &set[0];
    for (unsigned i = 0; i < STANDING_OF_SETS; i++) {
        if (set[i].failed && set[i].owner == owner) {
            return &set[i];
        }
        place = set[i].failed < place->failed ? &set[i] : place;
    }
    *place = (struct standing_owner){.owner = owner};
    return place;
}

void standing_ok(struct standing *s, uint32_t owner)
{
    if (owner != s->ok_owner) {
        s->other_ok = s->ok;
        s->ok_owner = owner;
    }
    s->ok = ++s->count;
}

bool standing_failed(struct standing *s, uint32_t owner, uint64_t now_ms)
{
    struct standing_owner *of = standing_place(s, owner);
    uint64_t others_ok = s->ok_owner == owner ? s->other_ok : s->ok;
    if (of->failed && others_ok > of->failed) {
        of->alone_until_ms = now_ms + ALONE_MS;
    }
    of->failed = ++s->count;
    return now_ms < of->alone_until_ms;
}

bool standing_is_untried(const struct standing *s, uint32_t owner)
{
    const struct standing_owner *of = standing_find(s, owner);
    return !of || of->failed < s->ok;
}
