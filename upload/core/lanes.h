/* SPDX-License-Identifier: Apache-2.0 */
/* One queue for each owner, served in turn: who has queued thousands of things delays the
 * next one of somebody else by one of them. */
#ifndef GPUFL_UPLOAD_CORE_LANES_H
#define GPUFL_UPLOAD_CORE_LANES_H

#include <stdint.h>

#include "upload/core/queue.h"

/** With more owners than that at once, some share a queue. */
#define LANES_MAX 256u

/** What is queued of one owner, in order. */
struct lane {
    uint32_t owner;
    struct queue queue;
    struct queue passed; /**< what lanes_take left for later; it was before `queue` */
};

/** All zero when empty. */
struct lanes {
    struct lane lane[LANES_MAX]; /**< the first `count` are in use */
    unsigned count;
    unsigned next; /**< whose turn it is */
};

/** What becomes of a node that lanes_take comes across. */
enum lanes_choice { LANES_TAKE, LANES_PASS, LANES_DROP };

/** Adds \p node behind what \p owner has queued. */
void lanes_push(struct lanes *lanes, uint32_t owner, struct queue_node *node);

/** Takes out the first node that \p choose takes, from the owner whose turn it is. Each
 * node is shown once, until lanes_rewind. \return NULL when there is none. */
struct queue_node *
lanes_take(struct lanes *lanes,
           enum lanes_choice (*choose)(void *arg, struct queue_node *node), void *arg);

/** Puts the nodes that were passed over back in their places. */
void lanes_rewind(struct lanes *lanes);

#endif
