/* SPDX-License-Identifier: Apache-2.0 */
/* A list of ranges in quarantine, which finds those of a stream, and of a file, by
 * halving. One user can make tens of thousands of them. */
#ifndef GPUFL_UPLOAD_JOURNAL_RANGE_LIST_H
#define GPUFL_UPLOAD_JOURNAL_RANGE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upload/journal/journal_records.h"

/** In the order of their streams, files and places. All zero when empty. */
struct range_list {
    struct record_quarantine **range; /**< behind `gap` places of the array */
    size_t count;
    size_t gap;
    size_t cap; /**< of the array, with the gap */
};

/** Adds a copy of \p range, behind others of the same place. \return false without
 * memory. */
bool range_list_add(struct range_list *list, const struct record_quarantine *range);

/** \return the number of the first range of \p stream that is in \p file or a later one;
 * if there is none, that of the next stream's first. */
size_t range_list_first(const struct range_list *list, uint32_t stream, uint32_t file);

/** \return true if number \p at is a range of \p stream. */
bool range_list_is_of(const struct range_list *list, size_t at, uint32_t stream);

/** \return true if there is one of the stream, file and place of \p range. */
bool range_list_has(const struct range_list *list, const struct record_quarantine *range);

/** Takes the range that \p released names out. \return false if it is not there. */
bool range_list_take(struct range_list *list, const struct record_released *released,
                     struct record_quarantine *out);

/** Keeps, of \p count ranges from number \p at on, those that \p keeps says yes to. */
void range_list_keep(struct range_list *list, size_t at, size_t count,
                     bool (*keeps)(void *arg, struct record_quarantine *range),
                     void *arg);

/** The same for the ranges of \p stream that are in \p file or a later one. */
void range_list_keep_from(struct range_list *list, uint32_t stream, uint32_t file,
                          bool (*keeps)(void *arg, struct record_quarantine *range),
                          void *arg);

/** Frees the list. */
void range_list_close(struct range_list *list);

#endif
