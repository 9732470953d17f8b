/* SPDX-License-Identifier: Apache-2.0 */
/* How much a channel has written, and what of it is on disk no more. */
#ifndef GPUFL_COLLECTOR_CORE_SESSION_PARTS_H
#define GPUFL_COLLECTOR_CORE_SESSION_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session_amount {
    uint64_t lines, bytes;
    uint64_t noted; /**< in `scope`, whole scopes; in `system`, samples */
};

struct session_parts {
    struct session_amount written;
    struct session_amount active;  /**< of these, in the active file */
    struct session_amount lost;    /**< in files that other content has replaced */
    struct session_amount unnamed; /**< in the active file, while it has no name */
};

/** Counts \p len bytes of whole lines that are in the active file. */
void session_parts_write(struct session_parts *parts, const char *lines, size_t len);

/** Notes \p number whole scopes or samples among them. */
void session_parts_note(struct session_parts *parts, uint64_t number);

/** \p lost, lines and bytes, are in no file that has a name: \p for_good, or until this
 * is told anew. Of the scopes and samples in them is known that they are not more than
 * the file's. */
void session_parts_lose(struct session_parts *parts, const struct session_amount *lost,
                        bool for_good);

/** Another file is active. */
void session_parts_seal(struct session_parts *parts);

/** \return what is lost, if it were the end now. */
struct session_amount session_parts_lost(const struct session_parts *parts);

/** \return how many lines end in \p len bytes. */
uint64_t session_parts_lines(const char *bytes, size_t len);

#endif
