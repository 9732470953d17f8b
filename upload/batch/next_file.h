/* SPDX-License-Identifier: Apache-2.0 */
/* From a sealed file of a live session to the next one. */
#ifndef GPUFL_UPLOAD_BATCH_NEXT_FILE_H
#define GPUFL_UPLOAD_BATCH_NEXT_FILE_H

#include <stdbool.h>

#include "upload/core/stream.h"

/** For a stream whose file was read to its end into \p chunk. \return true if nothing
 * more can come there, or be cut off. */
bool next_file_is_final(const struct stream *stream, const struct tail_chunk *chunk);

/** \p chunk was read at \p where into the engine's buffer. \return true if it is half a
 * line, and the rest was cut off: a writer makes no file behind one, and tells of the
 * loss where another program's file has taken the name. Without positions, it goes to
 * quarantine, and is false. */
bool next_file_shows_cut(const struct stream *stream, const struct tail_where *where,
                         const struct tail_chunk *chunk);

/** The file of which a person gave up the rest is not there, and a later one is: goes on
 * with the next number. \return false if the journal cannot be written now. */
bool next_file_pass(struct stream *stream);

/** The next file is not there: waits a moment for it. After that, what is there is all
 * there is for now; the directory changes when it comes. */
void next_file_wait(struct stream *stream);

#endif
