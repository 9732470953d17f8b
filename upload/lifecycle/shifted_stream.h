/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of the shifting layout: which file is current, and the step to the next. File
 * numbers count from the oldest file that was found, and never shift. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_SHIFTED_STREAM_H
#define GPUFL_UPLOAD_LIFECYCLE_SHIFTED_STREAM_H

#include "upload/core/offer.h"

/** \return true if the stream knows by its head which file it reads, or its layout is
 * another. */
bool shifted_stream_find(struct stream *stream);

/** Moves on from a file that is settled to the next newer one, once that can be told from
 * the others. */
enum made shifted_stream_next(struct stream *stream);

/** Handles a file that is gone: the writer keeps a hundred, and was faster than we were.
 */
enum made shifted_stream_lost(struct stream *stream);

#endif
