/* SPDX-License-Identifier: Apache-2.0 */
/* What follows when a stream cannot be read at its position. */
#ifndef GPUFL_UPLOAD_BATCH_READ_PROBLEM_H
#define GPUFL_UPLOAD_BATCH_READ_PROBLEM_H

#include "upload/core/offer.h"

/** \return true if its file is a sealed one of which \p chunk, in the engine's buffer,
 * shows that it is empty, or that the begin of the channel is lost: what nobody gave up.
 */
bool read_problem_is_cut(const struct stream *stream, const struct tail_chunk *chunk);

/** \p status and \p chunk are those of the read; GPUFL_OK: it is cut. \return
 * MADE_STEP if there is something else to be tried. */
enum made read_problem_judge(struct stream *stream, gpufl_status status,
                             const struct tail_chunk *chunk);

#endif
