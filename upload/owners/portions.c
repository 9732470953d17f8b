/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what each owner has spent. Those who could spend all of a round have more. */
#include "upload/owners/portions.h"

#define PORTIONS_GROWTH 256u

void portions_begin(struct portions *portions, uint64_t limit)
{
    portions_end(portions);
    portions->before = 0;
    portions->limit = limit;
}

/* What was spent in a round before is at least its limit if something was left. */
bool portions_served(const struct portions *portions, uint32_t owner)
{
    return shares_of(&portions->spent, owner) < portions->before;
}

enum portion portions_turn(struct portions *portions, uint32_t owner)
{
    if (portions_served(portions, owner)) {
        return PORTION_SERVED;
    }
    if (shares_of(&portions->spent, owner) < portions->limit) {
        return PORTION_NOW;
    }
    portions->left = true;
    return PORTION_LATER;
}

void portions_spend(struct portions *portions, uint32_t owner, uint64_t amount)
{
    shares_add(&portions->spent, owner, amount);
}

bool portions_next(struct portions *portions)
{
    bool left = portions->left;
    portions->left = false;
    if (left) {
        portions->before = portions->limit;
        portions->limit *= PORTIONS_GROWTH;
    }
    return left;
}

void portions_end(struct portions *portions)
{
    shares_close(&portions->spent);
    portions->left = false;
}
