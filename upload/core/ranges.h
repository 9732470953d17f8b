/* SPDX-License-Identifier: Apache-2.0 */
/* A root's ranges in quarantine. Each takes room of the share of its owner. */
#ifndef GPUFL_UPLOAD_CORE_RANGES_H
#define GPUFL_UPLOAD_CORE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/stream.h"
#include "upload/http/reply_positions.h"

/** Adds a range that the journal has. \return false without memory. */
bool ranges_restore(struct root *root, const struct record_quarantine *range);

/** Adds a range of \p stream, which has a number, and appends it to the journal; fills in
 * whose it is. \return false without memory, or if the journal cannot be written now. */
bool ranges_add(const struct stream *stream, struct record_quarantine *range);

/** Counts and says that a range of \p stream has come into quarantine; \p read: it is
 * counted as read. */
void ranges_say(const struct stream *stream, const struct record_quarantine *range,
                bool read);

/** \return true if what lies between the end of \p stream and \p end, which the backend
 * told, is one line that was not sent, as the backend had refused it: whoever sent that
 * did not hear the answer, or was killed. \p out: its range. */
bool ranges_skipped(const struct stream *stream, const struct reply_end *end,
                    struct record_quarantine *out);

/** Removes a range and copies it to \p out. \return false if it is not listed. */
bool ranges_release(struct root *root, const struct record_released *released,
                    struct record_quarantine *out);

/** Keeps the ranges that \p keeps says yes to. */
void ranges_keep(struct root *root,
                 bool (*keeps)(void *arg, struct record_quarantine *range), void *arg);

/** The same for the ranges of \p stream that are in \p file or a later one; \p keeps NULL
 * = none. */
void ranges_keep_from(struct root *root, uint32_t stream, uint32_t file,
                      bool (*keeps)(void *arg, struct record_quarantine *range),
                      void *arg);

/** Charges a range to \p owner instead of the one to whom it was charged. */
void ranges_charge(const struct root *root, struct record_quarantine *range,
                   uint32_t owner);

/** \return the first file of the stream from \p file on that has a range in quarantine;
 * 0 = none. */
uint32_t ranges_next_in(const struct root *root, uint32_t stream, uint32_t file);

/** Removes the ranges of a stream that are behind \p to, where it goes back to: they are
 * offered again. Their lines are no longer counted. */
void ranges_go_back(struct stream *stream, const struct record_settled *to);

/** Its own bytes up to \p end are those that the backend has: if nothing of them was
 * skipped or lost, what of them was refused before is stored now, and leaves quarantine.
 */
void ranges_release_stored(struct stream *stream, const struct reply_end *end);

/** Removes all ranges of a stream. */
void ranges_forget(struct root *root, uint32_t stream);

/** The same for all streams of a parked session. */
void ranges_forget_parked(struct root *root, const struct parked_session *session);

/** Removes all ranges. */
void ranges_clear(struct root *root);

/** Takes a range out of the list again. */
void ranges_unlist(struct root *root, const struct record_quarantine *range);

/** Removes a range of \p stream from the list: it is stored now, or given up. \return
 * false if it is not listed. */
bool ranges_let_out(struct stream *stream, const struct record_released *record);

/** Takes the ranges out of quarantine that the positions are not behind: a crash came
 * before they were settled, and so they are offered again. */
void ranges_unlist_unsettled(struct root *root);

#endif
