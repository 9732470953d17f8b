/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of each of several owners, and how much more may be: who has very many
 * things takes no room from the others. */
#ifndef GPUFL_BASE_SHARES_H
#define GPUFL_BASE_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#define SHARES_BUCKETS 256u
#define SHARES_PARTS   256u

/** Of what is not charged to anybody yet. It has no share: nothing stays so. */
#define SHARES_NOBODY UINT32_MAX

/** What is kept of one owner. */
struct share {
    struct share *next;
    uint32_t owner;
    uint64_t amount;
};

/** All zero when empty, but for the limit. Amounts are bytes, or anything else that is
 * counted. */
struct shares {
    uint64_t limit;  /**< of all; 0 = none */
    uint64_t amount; /**< of all */
    struct share *bucket[SHARES_BUCKETS];
};

/** Notes that so much more is kept of \p owner, whether there is room for it or not. */
void shares_add(struct shares *shares, uint32_t owner, uint64_t amount);

/** Notes that so much less is kept. */
void shares_remove(struct shares *shares, uint32_t owner, uint64_t amount);

/** \return how much is kept of \p owner. */
uint64_t shares_of(const struct shares *shares, uint32_t owner);

/** \return true if so much more may be kept of \p owner. A quarter of the limit is set
 * aside in equal parts, of which each of the first SHARES_PARTS owners has one. Of the
 * rest, one may have three times what it leaves free: one alone gets three quarters of
 * it, and those who take all they can get leave room for the next one. */
bool shares_have_room(const struct shares *shares, uint32_t owner, uint64_t amount);

/** Frees the table. */
void shares_close(struct shares *shares);

#endif
