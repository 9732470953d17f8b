/* SPDX-License-Identifier: Apache-2.0 */
/* What follows when a stream cannot be read at its position. */
#ifndef GPUFL_UPLOAD_BATCH_READ_PROBLEM_H
#define GPUFL_UPLOAD_BATCH_READ_PROBLEM_H

#include "upload/core/offer.h"

/** \p status and \p chunk are those of the read. \return MADE_STEP if there is something
 * else to be tried. */
enum made read_problem_judge(struct stream *stream, gpufl_status status,
                             const struct tail_chunk *chunk);

#endif
