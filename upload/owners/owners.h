/* SPDX-License-Identifier: Apache-2.0 */
/* Tells which account answers for a user id. What each user may use, is shared between
 * accounts: a user with subordinate ids is one, however many of them it uses. */
#ifndef GPUFL_UPLOAD_OWNERS_OWNERS_H
#define GPUFL_UPLOAD_OWNERS_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "upload/owners/subordinate.h"

/** All zero: each user id answers for itself. */
struct owners {
    struct subordinate_ranges ranges;
    uint64_t mark; /**< stands for the files as they were read last */
    uint64_t next_ms;
    bool stale; /**< there are ranges that could not be read */
};

/** Reads `<dir>/subuid` and `<dir>/passwd` if they have changed, at most once a minute.
 * Nothing that these files do not have is asked for: a name service may be slow. */
void owners_refresh(struct owners *owners, const char *dir, const struct log *log,
                    uint64_t now_ms);

/** \return the account that answers for \p uid: the uid of the user to whom it is
 * subordinate, or the first id of the block of 65,536 that is one user's, or \p uid. */
uint32_t owners_account(const struct owners *owners, uint32_t uid);

void owners_close(struct owners *owners);

#endif
