/* SPDX-License-Identifier: Apache-2.0 */
/* In which order the sessions of other users are compared. Anybody can make compressed
 * files that take long to read, below what is excessive, and any number of them: who has
 * little does not wait for who has much. */
#ifndef GPUFL_CLI_TRANSFER_VERIFY_ORDER_H
#define GPUFL_CLI_TRANSFER_VERIFY_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upload/owners/owners.h"
#include "upload/source/select.h"

struct verify_place {
    const struct selected *session;
    uint32_t account;
};

/** The sessions of one account. */
struct verify_owner {
    uint32_t account;
    size_t next; /**< in `at` */
    size_t end;
    uint64_t cost; /**< of those that were compared */
};

/** Zero-initialise; borrows the sessions. */
struct verify_order {
    struct verify_place *at;    /**< those of other users: by account, then as listed */
    struct verify_owner *owner; /**< with sessions left; whose turn it is, is the first */
    size_t owners;
    bool turn; /**< a session of the first one is being compared */
};

/** \p owners tells whose turn is whose: with ids that are subordinate to one, a user has
 * no more turns than another. \return false without memory. */
bool verify_order_open(const struct selection *sessions, const struct owners *owners,
                       struct verify_order *out);

/** Notes that the one before has cost \p cost. \return the next session: that of the user
 * of whom least was read so far and with it, by its size on disk; NULL at the end. */
const struct selected *verify_order_next(struct verify_order *order, uint64_t cost);

void verify_order_close(struct verify_order *order);

#endif
