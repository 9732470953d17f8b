/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's buffer of lines as they were read. */
#ifndef GPUFL_UPLOAD_CORE_RAW_LINES_H
#define GPUFL_UPLOAD_CORE_RAW_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "upload/core/engine_state.h"
#include "upload/source/tail.h"

/** Makes room for \p cap bytes and an added newline. \return false without memory. */
bool raw_lines_grow(struct engine *engine, size_t cap);

/** Grows the buffer, and reads as much as a line may have: a compressed file may be cut
 * off in a line, and what comes before the cut is none then. \return as tail_read;
 * GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status raw_lines_read(struct engine *engine,
                                       const struct tail_where *where,
                                       struct tail_chunk *out);

/** \return true if the first \p len bytes are a whole record. */
bool raw_lines_is_record(const struct engine *engine, size_t len);

/** Shrinks the buffer again after a long line, or a batch of a run with larger ones. */
void raw_lines_shrink(struct engine *engine);

void raw_lines_close(struct engine *engine);

#endif
