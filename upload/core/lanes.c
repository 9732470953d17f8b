/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the queue of an owner, and the owner whose turn it is. */
#include "upload/core/lanes.h"

#include <stddef.h>

static struct lane *lanes_of(struct lanes *lanes, uint32_t owner)
{
    for (unsigned i = 0; i < lanes->count; i++) {
        if (lanes->lane[i].owner == owner) {
            return &lanes->lane[i];
        }
    }
    if (lanes->count == LANES_MAX) {
        return &lanes->lane[owner % LANES_MAX];
    }
    struct lane *lane = &lanes->lane[lanes->count++];
    *lane = (struct lane){.owner = owner};
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
        case LANES_DROP:
            break;
        }
    }
    return NULL;
}

struct queue_node *
lanes_take(struct lanes *lanes,
           enum lanes_choice (*choose)(void *arg, struct queue_node *node), void *arg)
{
    for (unsigned i = 0; i < lanes->count; i++) {
        unsigned turn = (lanes->next + i) % lanes->count;
        struct queue_node *node = lanes_take_from(&lanes->lane[turn], choose, arg);
        if (node) {
            lanes->next = (turn + 1) % lanes->count;
            return node;
        }
    }
    return NULL;
}

void lanes_rewind(struct lanes *lanes)
{
    unsigned kept = 0;
    unsigned next = 0;
    for (unsigned i = 0; i < lanes->count; i++) {
        struct lane *lane = &lanes->lane[i];
        queue_append(&lane->passed, &lane->queue);
        if (i == lanes->next) {
            next = kept;
        }
        if (lane->passed.first) {
            struct lane waits = {.owner = lane->owner, .queue = lane->passed};
            lanes->lane[kept++] = waits;
        }
    }
    lanes->count = kept;
    lanes->next = next < kept ? next : 0;
}
