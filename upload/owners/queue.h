/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of things that hold their own node. */
#ifndef GPUFL_UPLOAD_OWNERS_QUEUE_H
#define GPUFL_UPLOAD_OWNERS_QUEUE_H

/** First member of each thing in a queue. */
struct queue_node {
    struct queue_node *next;
};

/** All zero when empty. */
struct queue {
    struct queue_node *first;
    struct queue_node **last;
};

/** Adds \p node at the end. */
void queue_push(struct queue *queue, struct queue_node *node);

/** Takes the first node out. \return NULL when there is none. */
struct queue_node *queue_pop(struct queue *queue);

/** Moves all of \p from to the end of \p to. */
void queue_append(struct queue *to, struct queue *from);

#endif
