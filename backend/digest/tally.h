/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over rows that are alike: what the tables of the page show. */
#ifndef GPUFL_BACKEND_DIGEST_TALLY_H
#define GPUFL_BACKEND_DIGEST_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What is counted; the numbers are stored in the database. */
enum tally_kind {
    TALLY_KERNEL = 1, /**< a = kernel_dict id; value = ns */
    TALLY_COPY = 2,   /**< a = copy_kind; value = ns, bytes */
    TALLY_SET = 3,    /**< value = ns, bytes */
    TALLY_SYNC = 4,   /**< a = sync_type; value = ns */
    TALLY_MEMORY = 5, /**< a = memory_op, b = memory_kind; bytes */
    TALLY_SAMPLE = 6, /**< a = function_dict id, b = pc_offset, c = metric_dict id of the
                           stall reason; value = samples */
    TALLY_LINE = 7,   /**< a = source_file_dict id, b = line; value = samples */
    TALLY_LAUNCH = 8, /**< a = corr_id of the kernel_detail; value = ns */
};

struct tally_key {
    int64_t a, b, c;
    enum tally_kind kind;
};

/** One of them. */
struct tally {
    struct tally_key key;
    uint64_t count;
    int64_t total; /**< of the values */
    int64_t min, max;
    int64_t bytes;
};

/** Zero-initialise. */
struct tallies {
    struct tally *slot; /**< count 0 = free */
    size_t cap;         /**< a power of two, or 0 */
    size_t used;
    uint64_t random[8]; /**< of the hash: drawn with the first slots */
};

/** Counts one row; beyond 100,000 keys as the one with a, b, c = 0, "unknown".
 * \return false without memory. */
bool tally_add(struct tallies *tallies, const struct tally_key *key, int64_t value,
               int64_t bytes);

void tally_fini(struct tallies *tallies);

#endif
