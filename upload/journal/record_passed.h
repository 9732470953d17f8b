/* SPDX-License-Identifier: Apache-2.0 */
/* The record about files that were passed without having been read. A version that does
 * not know it says nothing about such a file, and forgets it when it rewrites the
 * journal. */
#ifndef GPUFL_UPLOAD_JOURNAL_RECORD_PASSED_H
#define GPUFL_UPLOAD_JOURNAL_RECORD_PASSED_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/journal/journal.h"

/** Files or windows of a stream, by their numbers. */
struct record_passed {
    uint32_t stream;
    uint32_t first;
    uint32_t last;
    uint8_t returned; /**< 1: they are not missed any more; 0: they were given up */
};

/** Appends one record. \return the ticket, 0 on failure. */
uint64_t record_append_passed(struct journal *journal,
                              const struct record_passed *record);

/** Reads one record. \return false when it is not what it says. */
bool record_parse_passed(const struct journal_record *record, struct record_passed *out);

#endif
