/* SPDX-License-Identifier: Apache-2.0 */
/* One queue for each owner, served in turn: who has queued thousands of things delays the
 * next one of somebody else by one of them. For what is queued elsewhere, struct turns
 * remembers when each owner had its turn last. */
#ifndef GPUFL_UPLOAD_OWNERS_LANES_H
#define GPUFL_UPLOAD_OWNERS_LANES_H

#include <stdint.h>

#include "upload/owners/queue.h"

/** With more owners than that at once, some share a queue. */
#define LANES_MAX 4096u
/** A power of two, so large that an owner is mostly found at once. */
#define LANES_SLOTS (2 * LANES_MAX)

/** What is queued of one owner, in order. */
struct lane {
    struct queue_node node; /**< in the order of turns, or in those that are free */
    uint32_t owner;
    struct queue queue;
    struct queue passed; /**< what lanes_take left for later; it was before `queue` */
};

/** All zero when empty. */
struct lanes {
    struct lane lane[LANES_MAX]; /**< the first `used` are in use, or were */
    unsigned used;
    unsigned count;     /**< that are in use */
    struct queue turns; /**< these, the next one first: whoever had its turn goes last */
    struct queue free;
    uint16_t slot[LANES_SLOTS]; /**< number of the lane of an owner, plus one: at its
                                   hash, or behind it */
};

/** What becomes of a node that lanes_take comes across; with LANES_PASS_OWNER, the others
 * of its owner are not shown. */
enum lanes_choice { LANES_TAKE, LANES_PASS, LANES_PASS_OWNER, LANES_DROP };

/** Adds \p node behind what \p owner has queued. */
void lanes_push(struct lanes *lanes, uint32_t owner, struct queue_node *node);

/** Takes out the first node that \p choose takes, from the owner whose turn it is. Each
 * node is shown once, until lanes_rewind. \return NULL when there is none. */
struct queue_node *
lanes_take(struct lanes *lanes,
           enum lanes_choice (*choose)(void *arg, struct queue_node *node), void *arg);

/** Puts the nodes that were passed over back in their places. */
void lanes_rewind(struct lanes *lanes);

#define TURNS_SETS    512u
#define TURNS_OF_SETS 8u /**< owners in each set */

struct turn {
    uint32_t owner;
    uint64_t at; /**< 0 = the place is free */
};

/** Owners whose hashes are equal share a set. */
struct turns_set {
    struct turn turn[TURNS_OF_SETS];
    uint64_t forgotten; /**< the latest turn of an owner that found no place any more */
};

/** All zero: nobody had one. */
struct turns {
    struct turns_set set[TURNS_SETS];
    uint64_t count; /**< of all turns */
};

/** \return the number of the last turn of \p owner, 0 = it had none. One that was
 * forgotten had it at that time or before. */
uint64_t turns_last(const struct turns *turns, uint32_t owner);

/** Notes that \p owner has its turn. */
void turns_take(struct turns *turns, uint32_t owner);

#endif
