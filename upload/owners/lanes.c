/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the queue of an owner, and the owner whose turn it is. */
#include "upload/owners/lanes.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static struct lane *lane_of(struct queue_node *node)
{
    return (struct lane *)node; /* its first member */
}

/* \return the slot that has \p owner, or a free one; half of them are free. */
static uint16_t *lanes_slot(struct lanes *lanes, uint32_t owner)
{
    unsigned at = (owner * 2654435761u) >> 19; /* 13 bits: LANES_SLOTS */
    while (lanes->slot[at] && lanes->lane[lanes->slot[at] - 1].owner != owner) {
        at = (at + 1) % LANES_SLOTS;
    }
    return &lanes->slot[at];
}

static struct lane *lanes_of(struct lanes *lanes, uint32_t owner)
{
    uint16_t *slot = lanes_slot(lanes, owner);
    if (*slot) {
        return &lanes->lane[*slot - 1];
    }
    struct lane *lane = lane_of(queue_pop(&lanes->free));
    if (!lane && lanes->used == LANES_MAX) {
        return &lanes->lane[owner % LANES_MAX];
    }
    lane = lane ? lane : &lanes->lane[lanes->used++];
    *slot = (uint16_t)(lane - lanes->lane + 1);
    *lane = (struct lane){.owner = owner};
    queue_push(&lanes->turns, &lane->node);
    lanes->count++;
    return lane;
}

void lanes_push(struct lanes *lanes, uint32_t owner, struct queue_node *node)
{
    queue_push(&lanes_of(lanes, owner)->queue, node);
}

static struct queue_node *
lanes_take_from(struct lane *lane,
                enum lanes_choice (*choose)(void *arg, struct queue_node *node),
                void *arg)
{
    for (struct queue_node *node; (node = queue_pop(&lane->queue));) {
        switch (choose(arg, node)) {
        case LANES_TAKE:
            return node;
        case LANES_PASS:
            queue_push(&lane->passed, node);
            break;
        case LANES_PASS_OWNER:
            queue_push(&lane->passed, node);
            return NULL;
        case LANES_DROP:
            break;
        }
    }
    return NULL;
}

/* An owner that comes later goes behind those that wait, also behind one that has had its
 * turn and has more: otherwise that one would wait for as long as others come. */
struct queue_node *
lanes_take(struct lanes *lanes,
           enum lanes_choice (*choose)(void *arg, struct queue_node *node), void *arg)
{
    struct queue keep = {0}; /* whose owners have nothing to take, and keep their turns */
    struct queue had = {0};
    struct queue_node *node = NULL;
    struct lane *lane;
    while (!node && (lane = lane_of(queue_pop(&lanes->turns)))) {
        node = lanes_take_from(lane, choose, arg);
        queue_push(node ? &had : &keep, &lane->node);
    }
    queue_append(&keep, &lanes->turns);
    queue_append(&keep, &had);
    queue_append(&lanes->turns, &keep);
    return node;
}

static void lanes_find_again(struct lanes *lanes)
{
    memset(lanes->slot, 0, sizeof lanes->slot);
    for (struct queue_node *node = lanes->turns.first; node; node = node->next) {
        const struct lane *lane = lane_of(node);
        *lanes_slot(lanes, lane->owner) = (uint16_t)(lane - lanes->lane + 1);
    }
}

void lanes_rewind(struct lanes *lanes)
{
    struct queue turns = {0};
    struct lane *lane;
    unsigned before = lanes->count;
    while ((lane = lane_of(queue_pop(&lanes->turns)))) {
        queue_append(&lane->passed, &lane->queue);
        queue_append(&lane->queue, &lane->passed);
        bool waits = lane->queue.first != NULL;
        queue_push(waits ? &turns : &lanes->free, &lane->node);
        lanes->count -= !waits;
    }
    queue_append(&lanes->turns, &turns);
    if (lanes->count != before) {
        lanes_find_again(lanes);
    }
}

static unsigned turns_set_of(uint32_t owner)
{
    return (owner * 2654435761u) >> 23; /* 9 bits: TURNS_SETS */
}

uint64_t turns_last(const struct turns *turns, uint32_t owner)
{
    const struct turns_set *set = &turns->set[turns_set_of(owner)];
    for (unsigned i = 0; i < TURNS_OF_SETS; i++) {
        if (set->turn[i].at && set->turn[i].owner == owner) {
            return set->turn[i].at;
        }
    }
    return set->forgotten;
}

/* The one whose turn is the longest ago makes room. It does not count as one that had
 * none: it would go before all others, again and again. */
void turns_take(struct turns *turns, uint32_t owner)
{
    struct turns_set *set = &turns->set[turns_set_of(owner)];
    struct turn *place = &set->turn[0];
    for (unsigned i = 0; i < TURNS_OF_SETS; i++) {
        struct turn *turn = &set->turn[i];
        if (turn->at && turn->owner == owner) {
            turn->at = ++turns->count;
            return;
        }
        place = turn->at < place->at ? turn : place;
    }
    set->forgotten = place->at > set->forgotten ? place->at : set->forgotten;
    *place = (struct turn){.owner = owner, .at = ++turns->count};
}
