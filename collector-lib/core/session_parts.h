/* SPDX-License-Identifier: Apache-2.0 */
/* How much a channel has written, and what of it is on disk no more. */
#ifndef GPUFL_COLLECTOR_CORE_SESSION_PARTS_H
#define GPUFL_COLLECTOR_CORE_SESSION_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector-lib/core/row_counts.h"

struct session_amount {
    uint64_t lines, bytes;
    struct row_counts rows;
    uint64_t pairs; /**< scopes that end there, and have their begin in a file */
};

struct session_parts {
    struct session_amount written;
    struct session_amount active;  /**< of these, in the active file */
    struct session_amount lost;    /**< in files that other content has replaced */
    struct session_amount unnamed; /**< in the active file, while it has no name */
    /** Of the rows of scopes that were written, those behind the first up to the second
     * were lost last, for good; 0 and 0 once that is taken. */
    uint64_t lost_from, lost_to;
};

/** Counts \p len bytes of whole lines that are in the active file. */
void session_parts_write(struct session_parts *parts, const char *lines, size_t len);

/** Notes \p number whole scopes among them. */
void session_parts_note_pairs(struct session_parts *parts, uint64_t number);

/** \p lost is in no file that has a name: \p for_good, or until this is told anew. */
void session_parts_lose(struct session_parts *parts, const struct session_amount *lost,
                        bool for_good);

/** Another file is active. */
void session_parts_seal(struct session_parts *parts);

/** \return what is lost, if it were the end now. */
struct session_amount session_parts_lost(const struct session_parts *parts);

/** \return what is in the lines of the file \p fd that end behind \p from; of the bytes,
 * those behind it. Each scope that ends there counts as a pair. */
struct session_amount session_amount_read(int fd, uint64_t from);

/** Adds \p more to \p to. */
void session_amount_add(struct session_amount *to, const struct session_amount *more);

/** Subtracts \p part from \p from, and never more than there is. */
void session_amount_subtract(struct session_amount *from,
                             const struct session_amount *part);

/** Takes the rows of scopes that were lost. \return false if there are none. */
bool session_parts_take_lost(struct session_parts *parts, uint64_t *from, uint64_t *to);

/** \return how many lines end in \p len bytes. */
uint64_t session_parts_lines(const char *bytes, size_t len);

#endif
