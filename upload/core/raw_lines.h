/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's buffer of lines as they were read. */
#ifndef GPUFL_UPLOAD_CORE_RAW_LINES_H
#define GPUFL_UPLOAD_CORE_RAW_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "upload/core/engine_state.h"

/** Makes room for \p cap bytes and an added newline. \return false without memory. */
bool raw_lines_grow(struct engine *engine, size_t cap);

/** Shrinks the buffer again after a long line, or a batch of a run with larger ones. */
void raw_lines_shrink(struct engine *engine);

void raw_lines_close(struct engine *engine);

#endif
