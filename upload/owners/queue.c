/* SPDX-License-Identifier: Apache-2.0 */
/* Links nodes into a queue and out of it again, in order. */
#include "upload/owners/queue.h"

#include <stddef.h>

void queue_push(struct queue *queue, struct queue_node *node)
{
    if (!queue->first) {
        queue->last = &queue->first;
    }
    node->next = NULL;
    *queue->last = node;
    queue->last = &node->next;
}

struct queue_node *queue_pop(struct queue *queue)
{
    struct queue_node *node = queue->first;
    if (node) {
        queue->first = node->next;
        node->next = NULL;
    }
    return node;
}

void queue_append(struct queue *to, struct queue *from)
{
    if (from->first) {
        *(to->first ? to->last : &to->first) = from->first;
        to->last = from->last;
    }
    *from = (struct queue){0};
}
