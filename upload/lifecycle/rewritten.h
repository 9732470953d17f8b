/* SPDX-License-Identifier: Apache-2.0 */
/* Files that were emptied and written again to the size that they had: nothing seems to
 * be left to read. And files that were read from their first byte on, and have not
 * changed since: what was sent of them is what is there. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_REWRITTEN_H
#define GPUFL_UPLOAD_LIFECYCLE_REWRITTEN_H

#include "upload/core/session.h"
#include "upload/core/stream.h"

/** \return true if other bytes than those that were sent stand before the position: a
 * read of the stream tells what follows. Only compared if \p seen has changed since. */
bool rewritten_since(struct stream *stream, const struct scan_channel *seen);

/** The same of any stream of the session, whatever was seen; the next inspection has it
 * read again, or holds it. */
bool rewritten_session(struct session *session);

/** Notes that \p chunk was read at the stream's position. */
void read_whole_begin(struct stream *stream, const struct tail_chunk *chunk);

/** Notes that an offer took \p len bytes at the stream's position. */
void read_whole_took(struct stream *stream, uint64_t len);

/** \return the file of the stream's end, of which all up to there is now to be read. */
struct stream_whole read_whole_of_end(const struct stream *stream);

/** \return true if the kernel tells that the file of the stream's end is as it was read:
 * then it need not be read again. */
bool read_whole_is_unchanged(const struct stream *stream);

#endif
