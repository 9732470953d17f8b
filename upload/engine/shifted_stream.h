/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of the shifting layout: which file it is in, and on to the next. Its file
 * numbers count from the oldest that was found, and never shift. */
#ifndef GPUFL_UPLOAD_ENGINE_SHIFTED_STREAM_H
#define GPUFL_UPLOAD_ENGINE_SHIFTED_STREAM_H

#include "upload/core/offer.h"

/** \return true when the stream knows by its head which file it reads; also of any other
 * layout. */
bool shifted_stream_find(struct stream *stream);

/** Its file is wholly behind us: on to the next newer one, once it can be told from the
 * others. */
enum made shifted_stream_next(struct stream *stream);

/** Its file is gone: its writer keeps a hundred, and was faster than we. */
enum made shifted_stream_lost(struct stream *stream);

#endif
