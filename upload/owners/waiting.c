/* SPDX-License-Identifier: Apache-2.0 */
/* A table of owners of whom sessions wait, which are also linked in the order of their
 * turns. */
#include "upload/owners/waiting.h"

#include <stddef.h>
#include <stdlib.h>

static struct waiting_owner **waiting_link(struct waiting *waiting, uint32_t owner)
{
    struct waiting_owner **link = &waiting->bucket[owner % WAITING_BUCKETS];
    while (*link && (*link)->owner != owner) {
        link = &(*link)->next;
    }
    return link;
}

static void waiting_turn_push(struct waiting *waiting, struct waiting_owner *of)
{
    of->next_turn = NULL;
    of->turn_at = waiting->turns ? waiting->turns_last : &waiting->turns;
    *of->turn_at = of;
    waiting->turns_last = &of->next_turn;
}

static void waiting_turn_remove(struct waiting *waiting, struct waiting_owner *of)
{
    *of->turn_at = of->next_turn;
    *(of->next_turn ? &of->next_turn->turn_at : &waiting->turns_last) = of->turn_at;
}

bool waiting_add(struct waiting *waiting, uint32_t owner, struct waiting_node *node)
{
    struct waiting_owner **link = waiting_link(waiting, owner);
    struct waiting_owner *of = *link;
    if (!of) {
        of = *link = calloc(1, sizeof *of);
        if (!of) {
            return false;
        }
        of->owner = owner;
        waiting_turn_push(waiting, of);
    }
    node->next = NULL;
    node->at = of->first ? of->last : &of->first;
    *node->at = node;
    of->last = &node->next;
    waiting->count++;
    return true;
}

void waiting_remove(struct waiting *waiting, uint32_t owner, struct waiting_node *node)
{
    if (!node->at) {
        return;
    }
    struct waiting_owner **link = waiting_link(waiting, owner);
    struct waiting_owner *of = *link;
    *node->at = node->next;
    *(node->next ? &node->next->at : &of->last) = node->at;
    node->at = NULL;
    waiting->count--;
    if (!of->first) {
        waiting_turn_remove(waiting, of);
        *link = of->next;
        free(of);
    }
}

struct waiting_node *waiting_turn(struct waiting *waiting)
{
    struct waiting_owner *of = waiting->turns;
    if (!of) {
        return NULL;
    }
    waiting_turn_remove(waiting, of);
    waiting_turn_push(waiting, of);
    return of->first;
}

void waiting_close(struct waiting *waiting)
{
    while (waiting->turns) {
        struct waiting_owner *of = waiting->turns;
        waiting->turns = of->next_turn;
        free(of);
    }
}
