/* SPDX-License-Identifier: Apache-2.0 */
/* Appends lines to the channels' files, and names before the lines that use them. A write
 * that fails pauses recording. */
#ifndef GPUFL_COLLECTOR_WRITER_WRITER_APPEND_H
#define GPUFL_COLLECTOR_WRITER_WRITER_APPEND_H

#include "collector-lib/writer/writer_state.h"

/** Appends \p text. While recording is paused, and if it fails, the lines are counted as
 * lost. \return how many bytes are in the file. */
size_t writer_append(struct writer *writer, enum channel channel,
                     const struct text *text);

/** Appends the few lines that open and close a session to each channel, also while
 * recording is paused. */
void writer_append_everywhere(struct writer *writer, const struct text *text);

/** Appends w->opening to each channel: at the begin, and when it has changed. What fails
 * is written again later. */
void writer_append_opening(struct writer *writer);

/** Gives each channel the names that it lacks. */
void writer_append_names(struct writer *writer);

/** Counts what of that which was written is on disk no more, by the last look at the
 * names of the files. */
void writer_append_count_gone(struct writer *writer);

/** Pauses or resumes recording by the room on the disk. */
void writer_append_check_room(struct writer *writer);

/** Begins each channel again of which another program has replaced the active file: what
 * opens a session, and all names, may have been lost. */
void writer_append_replaced(struct writer *writer);

/** If a write has failed, and it is time or \p now_or_never: writes what opens a session,
 * and all names; recording resumes once each channel took that. */
void writer_append_retry(struct writer *writer, bool now_or_never);

#endif
