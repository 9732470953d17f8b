/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: whole lines of a stream, encoded as one request's body. */
#ifndef GPUFL_UPLOAD_BATCH_BATCH_H
#define GPUFL_UPLOAD_BATCH_BATCH_H

#include "upload/core/offer.h"
#include "upload/http/encode.h"

/** Offers the next lines at the stream's position, if there are any. */
enum made batch_make(struct stream *stream);

/** Reads an offer's lines again into the engine's buffer: \p raw_len bytes. */
gpufl_status batch_reread(struct offer *offer, size_t *raw_len);

/** Encodes the first \p raw_len bytes of the engine's buffer as the offer's body. */
gpufl_status batch_encode(struct offer *offer, size_t raw_len);

/** \return the mark before the end of an offer that begins with the first \p raw_len
 * bytes of the engine's buffer. */
struct record_mark batch_mark(const struct offer *offer, size_t raw_len);

/** \return the codec that new batches get. */
enum codec batch_codec(const struct engine *engine);

#endif
