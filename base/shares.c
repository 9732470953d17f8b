/* SPDX-License-Identifier: Apache-2.0 */
/* A table of owners, which has those of which something is kept. */
#include "base/shares.h"

#include <stddef.h>
#include <stdlib.h>

/* What one owner may have for each byte that it leaves free. */
#define SHARES_TO_FREE 3u

static struct share **shares_link(struct shares *shares, uint32_t owner)
{
    struct share **link = &shares->bucket[owner % SHARES_BUCKETS];
    while (*link && (*link)->owner != owner) {
        link = &(*link)->next;
    }
    return link;
}

/* Without memory it is counted for all, at least. */
void shares_add(struct shares *shares, uint32_t owner, uint64_t amount)
{
    struct share **link = shares_link(shares, owner);
    shares->amount += amount;
    if (!*link && amount && (*link = calloc(1, sizeof **link))) {
        (*link)->owner = owner;
    }
    if (*link) {
        (*link)->amount += amount;
    }
}

void shares_remove(struct shares *shares, uint32_t owner, uint64_t amount)
{
    struct share **link = shares_link(shares, owner);
    struct share *share = *link;
    shares->amount -= amount;
    if (share && share->amount > amount) {
        share->amount -= amount;
    } else if (share) {
        *link = share->next;
        free(share);
    }
}

uint64_t shares_of(const struct shares *shares, uint32_t owner)
{
    const struct share *share = shares->bucket[owner % SHARES_BUCKETS];
    while (share && share->owner != owner) {
        share = share->next;
    }
    return share ? share->amount : 0;
}

bool shares_have_room(const struct shares *shares, uint32_t owner, uint64_t amount)
{
    uint64_t has = shares_of(shares, owner);
    uint64_t aside = shares->limit / 4;
    uint64_t open = shares->limit - aside;
    uint64_t left = shares->amount < open ? open - shares->amount : 0;
    if (!shares->limit) {
        return true;
    }
    return shares->amount + amount <= shares->limit &&
           (has + amount <= aside / SHARES_PARTS ||
            (amount <= left && has + amount <= SHARES_TO_FREE * (left - amount)));
}

void shares_close(struct shares *shares)
{
    if (shares->amount == 0) {
        return; /* as at most turns */
    }
    shares->amount = 0;
    for (unsigned i = 0; i < SHARES_BUCKETS; i++) {
        while (shares->bucket[i]) {
            struct share *share = shares->bucket[i];
            shares->bucket[i] = share->next;
            free(share);
        }
    }
}
