/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of sums. */
#include "backend/digest/tally.h"

#include <stdlib.h>

#include "backend/digest/wrap.h"
#include "base/sys.h"

#define SLOTS_FIRST 64u
#define TALLIES_MAX 100000u

/* The sender chooses the keys, but not this: with a hash that is known, a few MiB of rows
 * that collide would take minutes. Vector multiply-shift (M. Thorup, "High Speed Hashing
 * for Integers and Strings", https://arxiv.org/abs/1504.06804, section 3.5): the upper
 * half of a sum of 32-bit words, each times a random number. */
static uint32_t tally_hash(const struct tallies *t, const struct tally_key *key)
{
    const uint64_t word[] = {(uint64_t)key->a, (uint64_t)key->b, (uint64_t)key->c,
                             (uint64_t)key->kind};
    uint64_t sum = 0;
    for (unsigned i = 0; i < sizeof word / sizeof *word; i++) {
        sum += t->random[2 * i] * (uint32_t)word[i];
        sum += t->random[2 * i + 1] * (word[i] >> 32);
    }
    return (uint32_t)(sum >> 32);
}

static bool is_same_tally(const struct tally_key *x, const struct tally_key *y)
{
    return x->a == y->a && x->b == y->b && x->c == y->c && x->kind == y->kind;
}

/* Its slot, or the free one where it goes. */
static struct tally *tally_slot(const struct tallies *t, const struct tally_key *key)
{
    for (size_t i = tally_hash(t, key);; i++) {
        struct tally *slot = &t->slot[i & (t->cap - 1)];
        if (slot->count == 0 || is_same_tally(&slot->key, key)) {
            return slot;
        }
    }
}

static bool make_room(struct tallies *t)
{
    if (t->used < t->cap / 2) {
        return true;
    }
    struct tallies more = *t;
    if (!t->cap) {
        sys_real.random(more.random, sizeof more.random);
    }
    more.cap = t->cap ? 2 * t->cap : SLOTS_FIRST;
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
