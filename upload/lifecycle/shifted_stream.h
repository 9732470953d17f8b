/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of the shifting layout: which file is current, and the step to the next. File
 * numbers count from the oldest file that was found, and never shift. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_SHIFTED_STREAM_H
#define GPUFL_UPLOAD_LIFECYCLE_SHIFTED_STREAM_H

#include "upload/core/offer.h"
#include "upload/http/reply_positions.h"
#include "upload/source/shifting_own.h"

/** \return true if the numbers of its files shift. */
bool shifted_stream_is(const struct stream *stream);

/** \return true if the stream knows by its head which file it reads, or its layout is
 * another. */
bool shifted_stream_find(struct stream *stream);

/** Moves on from a file that is settled to the next newer one, once that can be told from
 * the others. */
enum made shifted_stream_next(struct stream *stream);

/** \return true if no file was deleted, and none is being renamed, so that \p number
 * tells which file it is: *out. */
bool shifted_stream_numbered(const struct stream *stream, uint32_t number,
                             struct shifting_place *out);

/** Handles a file that is gone: the writer keeps a hundred, and was faster than we were.
 */
enum made shifted_stream_lost(struct stream *stream);

/** Begins the search for the file in which the stream ends at the backend, which told
 * that: from where it is \p settled if so. The checksum of the stream runs on there if
 * what was lost before is the same; else it counts if nothing was. One that ended in a
 * hold goes on where it got to, if no file has come or gone. */
void shifted_stream_own_begin(const struct stream *stream, const struct reply_end *told,
                              bool settled, struct shifting_own *own);

/** Does a step of that, over at most a batch's size. */
enum shifting_owned shifted_stream_own(struct stream *stream, struct shifting_own *own);

#endif
