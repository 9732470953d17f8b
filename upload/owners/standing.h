/* SPDX-License-Identifier: Apache-2.0 */
/* Whose requests fail, and whose succeed meanwhile: where only those of one owner fail,
 * that says nothing of the backend, and is in nobody else's way. */
#ifndef GPUFL_UPLOAD_OWNERS_STANDING_H
#define GPUFL_UPLOAD_OWNERS_STANDING_H

#include <stdbool.h>
#include <stdint.h>

#define STANDING_SETS    256u
#define STANDING_OF_SETS 8u /**< owners in each set */

/** An owner of which something has failed. */
struct standing_owner {
    uint32_t owner;
    uint64_t failed;         /**< number of its last failure, 0 = the place is free */
    uint64_t alone_until_ms; /**< so long, its failures are its own */
};

/** All zero: nothing has failed. Failures and successes are numbered together. */
struct standing {
    struct standing_owner owner[STANDING_SETS][STANDING_OF_SETS];
    uint64_t count;
    uint64_t ok;       /**< number of the last success */
    uint32_t ok_owner; /**< whose it was */
    uint64_t other_ok; /**< number of the last success of any other owner than that one */
};

/** Notes that a request of \p owner succeeded. */
void standing_ok(struct standing *standing, uint32_t owner);

/** Notes that one failed. \return true if that says nothing of the backend: another owner
 * succeeded since the last failure of this one, now or within the last minute. */
bool standing_failed(struct standing *standing, uint32_t owner, uint64_t now_ms);

/** \return true if nothing of \p owner failed since the last success of anybody. */
bool standing_is_untried(const struct standing *standing, uint32_t owner);

#endif
