/* SPDX-License-Identifier: Apache-2.0 */
/* Where a stream stands. Positions move here alone, by what was answered, and by the same
 * code when the journal is read at the start. */
#ifndef GPUFL_UPLOAD_CORE_POSITION_H
#define GPUFL_UPLOAD_CORE_POSITION_H

#include <stdbool.h>

#include "upload/core/offer.h"
#include "upload/journal/journal_records.h"

/** Applies what the journal says of the stream: the position moves, the lines count. */
void position_apply(struct stream *stream, const struct record_settled *settled);

/** Appends it to the journal and applies it. The record is durable before anything that
 * follows from it is sent or told: later records stand behind it in the same file.
 * \return false when the journal does not take it now; the position stays. */
bool position_advance(struct stream *stream, const struct record_settled *settled);

/** Settles what \p offer covers: the position moves behind it. \return false as
 * position_advance. */
bool position_settle(const struct offer *offer, uint32_t lines, enum settled_how how);

/** Puts a range on the list of the quarantined and steps over it. \return false when the
 * journal does not take it now. */
bool position_quarantine(struct stream *stream, const struct record_quarantine *record);

/** A quarantined range is stored now, or given up: it leaves the list. */
void position_release(struct stream *stream, const struct record_released *record);

/** Takes over what the journal holds of the stream. */
void position_restore(struct stream *stream, const struct record_stream *record);

/** Begins at another place than the start of the first file; the head is of the shifting
 * layout's file, else 0. */
void position_begin_at(struct stream *stream, uint32_t file, uint64_t offset,
                       uint64_t head);

/** Its file is wholly behind us: on to the start of the next. */
void position_next_file(struct stream *stream, uint64_t head);

/** Back to the first byte: everything is sent again. */
void position_rewind(struct stream *stream);

#endif
