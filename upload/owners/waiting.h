/* SPDX-License-Identifier: Apache-2.0 */
/* Parked sessions that wait to be opened: those of each owner in order, and the owners in
 * turn. */
#ifndef GPUFL_UPLOAD_OWNERS_WAITING_H
#define GPUFL_UPLOAD_OWNERS_WAITING_H

#include <stdbool.h>
#include <stdint.h>

#define WAITING_BUCKETS 128u

/** In one that waits. */
struct waiting_node {
    struct waiting_node *next; /**< of the owner's */
    struct waiting_node **at;  /**< the link to it; NULL = it does not wait */
};

/** Of whom some wait. */
struct waiting_owner {
    struct waiting_owner *next; /**< in its bucket */
    struct waiting_owner *next_turn;
    struct waiting_owner **turn_at; /**< the link to it in the order of turns */
    struct waiting_node *first;
    struct waiting_node **last;
    uint32_t owner;
};

/** All zero when none waits. */
struct waiting {
    struct waiting_owner *turns; /**< whose turn is next */
    struct waiting_owner **turns_last;
    struct waiting_owner *bucket[WAITING_BUCKETS];
    unsigned count; /**< of sessions */
};

/** Adds \p node behind those of \p owner. \return false without memory. */
bool waiting_add(struct waiting *waiting, uint32_t owner, struct waiting_node *node);

/** Takes \p node of \p owner out, if it waits. */
void waiting_remove(struct waiting *waiting, uint32_t owner, struct waiting_node *node);

/** Ends the turn of the owner whose turn it is. \return the first one of that owner,
 * which stays in its place; NULL if none waits. */
struct waiting_node *waiting_turn(struct waiting *waiting);

/** Frees the owners. */
void waiting_close(struct waiting *waiting);

#endif
