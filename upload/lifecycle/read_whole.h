/* SPDX-License-Identifier: Apache-2.0 */
/* Files that were read from their first byte on, and have not changed since: what was
 * sent of them is what is there. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_READ_WHOLE_H
#define GPUFL_UPLOAD_LIFECYCLE_READ_WHOLE_H

#include "upload/core/stream.h"

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
