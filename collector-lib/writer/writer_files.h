/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer does with files between its lines: each on the thread of files. */
#ifndef GPUFL_COLLECTOR_WRITER_WRITER_FILES_H
#define GPUFL_COLLECTOR_WRITER_WRITER_FILES_H

#include "collector-lib/writer/writer_state.h"

/** Opens the files that are read while the session runs, and makes the reserve. */
void writer_files_open(struct writer *writer);

/** Rotates old files and checks names and the disk: if one of them is due, and each
 * second; after a failed write, tries again if it is time, or \p now_or_never. */
void writer_files_begin_beat(struct writer *writer, bool now_or_never);

/** The same before anything is written in a beat, unless it has been done: others may
 * have cut a file. */
void writer_files_keep_house(struct writer *writer);

/** After a failed write, tries again for the last time. */
void writer_files_retry_last(struct writer *writer);

/** Gives active files that others have removed or renamed their names back, and counts
 * what is lost. */
void writer_files_restore_names(struct writer *writer);

/** Tells in a loss marker what is lost, behind the last line. */
void writer_files_mark_losses(struct writer *writer);

/** Calls \p leave: session_dir_close or session_dir_discard. */
void writer_files_leave(struct session_dir *dir, void (*leave)(struct session_dir *dir));

#endif
