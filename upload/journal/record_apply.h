/* SPDX-License-Identifier: Apache-2.0 */
/* What the journal's records change in the counts of a stream, for the uploader and for
 * those who only read a journal. */
#ifndef GPUFL_UPLOAD_JOURNAL_RECORD_APPLY_H
#define GPUFL_UPLOAD_JOURNAL_RECORD_APPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upload/journal/journal_records.h"

/** Adds the lines of \p settled to those that are stored, or to those that are refused;
 * of these, it takes away those that a person gave up. */
void record_apply_settled(const struct record_settled *settled, uint64_t *lines,
                          uint64_t *refused_lines);

/** \return true if \p settled lies before a position, as where the backend went back. */
bool record_goes_back(const struct record_settled *settled, uint32_t file,
                      uint64_t offset);

/** \return true if \p range is behind a position: settled. Until then, what becomes of it
 * is open: a crash may have come between its record and the one that settles it. */
bool record_range_is_settled(const struct record_quarantine *range, uint32_t file,
                             uint64_t offset);

/** Moves the lines of \p range from those that are refused to those that are stored, or
 * forgets them if it was given up. */
void record_apply_released(const struct record_released *released,
                           const struct record_quarantine *range, uint64_t *lines,
                           uint64_t *refused_lines);

#endif
