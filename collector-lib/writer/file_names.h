/* SPDX-License-Identifier: Apache-2.0 */
/* Which names the active file of each channel has. A sealed file can be read without
 * those before it: a file that was begun by a rotation gets the names that its lines use,
 * in front of the first line that uses each. */
#ifndef GPUFL_COLLECTOR_WRITER_FILE_NAMES_H
#define GPUFL_COLLECTOR_WRITER_FILE_NAMES_H

#include "collector-lib/writer/writer_state.h"

/** To be called once the channel may have another file. */
void file_names_follow(struct writer *writer, enum channel channel);

/** Appends to \p out the names that the lines of \p channel use and its file lacks, or
 * with \p next all that they use. */
void file_names_lacking(struct writer *writer, enum channel channel, bool next,
                        struct text *out);

/** The file has what file_names_lacking found last. */
void file_names_note_lacking(struct writer *writer, enum channel channel);

/** The file has all names behind \p sent. */
void file_names_note_new(struct writer *writer, enum channel channel,
                         const struct writer_sent *sent);

void file_names_fini(struct writer *writer);

#endif
