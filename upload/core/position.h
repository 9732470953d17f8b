/* SPDX-License-Identifier: Apache-2.0 */
/* Where a stream stands. Positions move only here: an answer and a record that is
 * replayed at start are applied by the same code. */
#ifndef GPUFL_UPLOAD_CORE_POSITION_H
#define GPUFL_UPLOAD_CORE_POSITION_H

#include <stdbool.h>

#include "upload/core/offer.h"
#include "upload/http/reply_positions.h"
#include "upload/journal/journal_records.h"

/** \return true if \p a stands before \p b: the same stream, as two journals know it. */
bool position_is_behind(const struct stream *a, const struct stream *b);

/** Applies a record of the journal: moves the position and counts the lines. */
void position_apply(struct stream *stream, const struct record_settled *settled);

/** Appends \p settled to the journal and applies it. The record is durable before
 * anything that depends on it is sent or reported, because later records follow it in the
 * same file. \return false if the journal cannot be written now; the position stays. */
bool position_advance(struct stream *stream, const struct record_settled *settled);

/** Settles the range of \p offer: moves the position to its end. Its rejected lines,
 * which \p lines are without, count as refused. \return as position_advance. */
bool position_settle(const struct offer *offer, uint32_t lines, enum settled_how how);

/** Settles \p end, which the backend told and own bytes prove, forward or back; \p own is
 * where that is: the head of its file and the mark of the bytes before it. A line that
 * ranges_skipped() finds goes into quarantine; other skips that the journal does not know
 * count as refused lines. \return as position_advance. */
bool position_adopt(struct stream *stream, const struct reply_end *end,
                    const struct stream_end *own);

/** Notes that the backend has all lines up to its end: what was not found or given up
 * before is no loss. */
void position_note_whole(struct stream *stream);

/** Notes what the backend told of losses with \p end, which is the stream's own now;
 * \p moved: it was not before. */
void position_note_told(struct stream *stream, const struct reply_end *end, bool moved);

/** Notes that the backend is now in this epoch, that it does not know the stream's
 * position better, and whether the stream goes by positions: if it has no end yet,
 * nothing of it is stored. \return as position_advance. */
bool position_choose(struct stream *stream, bool positions);

/** Settles the stream up to \p end because a person said so: it goes on at \p own of
 * \p file, where own bytes and those of the backend part, and sends what follows.
 * \return as position_advance. */
bool position_part_at(struct stream *stream, const struct reply_end *end, uint32_t file,
                      const struct stream_end *own);

/** Notes what else is to be known of its end. \return as position_advance. */
bool position_note_end(struct stream *stream, enum end_state state);

/** Adds a range of \p stream to the quarantine list, for which room_for_range(), and
 * moves the position past it. \return false if the journal cannot be written now. */
bool position_quarantine(struct stream *stream, const struct record_quarantine *record);

/** Restores a stream as the journal describes it. */
void position_restore(struct stream *stream, const struct record_stream *record);

/** Starts somewhere other than at the beginning of the first file; \p head identifies the
 * file in the shifting layout, else 0. */
void position_begin_at(struct stream *stream, uint32_t file, uint64_t offset,
                       uint64_t head);

/** Moves to the start of the next file: the current one is settled. */
void position_next_file(struct stream *stream, uint64_t head);

/** Back to its first byte, for another backend than before: that one has no number of it
 * yet. How far the stream had been sent is kept. */
void position_again(struct stream *stream);

/** Moves back to the first byte: everything is sent again. */
void position_rewind(struct stream *stream);

#endif
