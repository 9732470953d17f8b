/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of sums. */
#include "backend/digest/tally.h"

#include <stdlib.h>

#include "backend/digest/wrap.h"

#define SLOTS_FIRST 64u
#define TALLIES_MAX 100000u

/* splitmix64's steps: https://prng.di.unimi.it/splitmix64.c */
static uint64_t mix_bits(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static bool is_same_tally(const struct tally_key *x, const struct tally_key *y)
{
    return x->a == y->a && x->b == y->b && x->c == y->c && x->kind == y->kind;
}

/* Its slot, or the free one where it goes. */
static struct tally *tally_slot(const struct tallies *t, const struct tally_key *key)
{
    uint64_t hash = mix_bits((uint64_t)key->a +
                             mix_bits((uint64_t)key->b + mix_bits((uint64_t)key->c)) +
                             (uint64_t)key->kind);
    for (size_t i = (size_t)hash;; i++) {
        struct tally *slot = &t->slot[i & (t->cap - 1)];
        if (slot->count == 0 || is_same_tally(&slot->key, key)) {
            return slot;
        }
    }
}

static bool make_room(struct tallies *t)
{
    struct tallies more = {.cap = t->cap ? 2 * t->cap : SLOTS_FIRST, .used = t->used};
    if (t->used < t->cap / 2) {
        return true;
    }
    more.slot = calloc(more.cap, sizeof *more.slot);
    if (!more.slot) {
        return false;
    }
    for (size_t i = 0; i < t->cap; i++) {
        if (t->slot[i].count) {
            *tally_slot(&more, &t->slot[i].key) = t->slot[i];
        }
    }
    free(t->slot);
    *t = more;
    return true;
}

bool tally_add(struct tallies *t, const struct tally_key *key, int64_t value,
               int64_t bytes)
{
    if (!make_room(t)) {
        return false;
    }
    struct tally_key rest = {.kind = key->kind};
    struct tally *slot = tally_slot(t, key);
    if (slot->count == 0 && t->used >= TALLIES_MAX) {
        key = &rest;
        slot = tally_slot(t, key);
    }
    if (slot->count == 0) {
        *slot = (struct tally){.key = *key, .min = value, .max = value};
        t->used++;
    }
    slot->count++;
    slot->total = wrap_add(slot->total, value);
    slot->bytes = wrap_add(slot->bytes, bytes);
    slot->min = value < slot->min ? value : slot->min;
    slot->max = value > slot->max ? value : slot->max;
    return true;
}

void tally_fini(struct tallies *tallies)
{
    free(tallies->slot);
    *tallies = (struct tallies){0};
}
