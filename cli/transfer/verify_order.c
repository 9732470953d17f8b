/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts sessions by the account that answers for them, and takes these in turns. */
#include "cli/transfer/verify_order.h"

#include <stdlib.h>
#include <string.h>

static int verify_order_by_account(const void *left, const void *right)
{
    const struct verify_place *a = left;
    const struct verify_place *b = right;
    return a->account != b->account  ? (a->account < b->account ? -1 : 1)
           : a->session < b->session ? -1
                                     : a->session > b->session;
}

static void verify_order_add(struct verify_order *order, size_t i)
{
    uint32_t account = order->at[i].account;
    if (order->owners == 0 || order->owner[order->owners - 1].account != account) {
        order->owner[order->owners++] =
            (struct verify_owner){.account = account, .next = i};
    }
    order->owner[order->owners - 1].end = i + 1;
}

static uint64_t verify_order_cost(const struct verify_order *order,
                                  const struct verify_owner *owner)
{
    uint64_t bytes = order->at[owner->next].session->bytes;
    return owner->cost < UINT64_MAX - bytes ? owner->cost + bytes : UINT64_MAX;
}

static bool verify_order_before(const struct verify_order *order, size_t i, size_t other)
{
    const struct verify_owner *a = &order->owner[i];
    const struct verify_owner *b = &order->owner[other];
    uint64_t cost = verify_order_cost(order, a);
    uint64_t least = verify_order_cost(order, b);
    return cost != least ? cost < least : a->account < b->account;
}

/* The owners are a heap: each comes before the two at twice its place and after. */
static void verify_order_sink(struct verify_order *order, size_t i)
{
    size_t below = 2 * i + 1;
    while (below < order->owners) {
        size_t other = below + 1;
        bool right = other < order->owners && verify_order_before(order, other, below);
        below = right ? other : below;
        if (!verify_order_before(order, below, i)) {
            return;
        }
        struct verify_owner owner = order->owner[i];
        order->owner[i] = order->owner[below];
        order->owner[below] = owner;
        i = below;
        below = 2 * i + 1;
    }
}

bool verify_order_open(const struct selection *sessions, const struct owners *owners,
                       struct verify_order *out)
{
    size_t room = sessions->count + 1;
    size_t count = 0;
    *out = (struct verify_order){0};
    out->at = calloc(room, sizeof *out->at);
    out->owner = calloc(room, sizeof *out->owner);
    if (!out->at || !out->owner) {
        verify_order_close(out);
        return false;
    }
    for (size_t i = 0; i < sessions->count; i++) {
        const struct selected *session = &sessions->session[i];
        if (!session->own_user) {
            out->at[count++] =
                (struct verify_place){session, owners_account(owners, session->user)};
        }
    }
    qsort(out->at, count, sizeof *out->at, verify_order_by_account);
    for (size_t i = 0; i < count; i++) {
        verify_order_add(out, i);
    }
    for (size_t i = out->owners / 2; i > 0; i--) {
        verify_order_sink(out, i - 1);
    }
    return true;
}

/* The one whose turn it was is still the first. */
static void verify_order_end_turn(struct verify_order *order, uint64_t cost)
{
    struct verify_owner *owner = &order->owner[0];
    owner->cost = owner->cost < UINT64_MAX - cost ? owner->cost + cost : UINT64_MAX;
    if (owner->next == owner->end) {
        *owner = order->owner[--order->owners];
    }
    verify_order_sink(order, 0);
}

const struct selected *verify_order_next(struct verify_order *order, uint64_t cost)
{
    if (order->turn) {
        verify_order_end_turn(order, cost);
    }
    order->turn = order->owners > 0;
    return order->turn ? order->at[order->owner[0].next++].session : NULL;
}

void verify_order_close(struct verify_order *order)
{
    free(order->at);
    free(order->owner);
    *order = (struct verify_order){0};
}
