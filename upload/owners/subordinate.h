/* SPDX-License-Identifier: Apache-2.0 */
/* Reads which user ids are subordinate to which accounts: subuid(5), passwd(5). */
#ifndef GPUFL_UPLOAD_OWNERS_SUBORDINATE_H
#define GPUFL_UPLOAD_OWNERS_SUBORDINATE_H

#include <stddef.h>
#include <stdint.h>

/** Ranges beyond that are not read. */
#define SUBORDINATE_RANGES_MAX 65536u
/** The owner of a range whose name is in no list of accounts. */
#define SUBORDINATE_OWNER_NONE UINT32_MAX

/** User ids that an account may use. */
struct subordinate_range {
    uint32_t first;
    uint32_t last;
    uint32_t owner; /**< uid of the account, or SUBORDINATE_OWNER_NONE */
    uint64_t name;  /**< stands for its name, 0 = the file has its uid */
};

/** In the order of their ids; none overlaps another one. */
struct subordinate_ranges {
    struct subordinate_range *range;
    size_t count;
};

/** Reads the \p len bytes of \p text, /etc/subuid. Lines that say nothing are passed
 * over; of ids that several ranges have, the one that begins first has them. \p accounts:
 * the \p accounts_len bytes of /etc/passwd, which has the uids of names. *out is freed
 * with subordinate_free; it is empty without memory. */
void subordinate_read(const char *text, size_t len, const char *accounts,
                      size_t accounts_len, struct subordinate_ranges *out);

/** \return the range that has \p uid, or NULL. */
const struct subordinate_range *subordinate_find(const struct subordinate_ranges *ranges,
                                                 uint32_t uid);

void subordinate_free(struct subordinate_ranges *ranges);

#endif
