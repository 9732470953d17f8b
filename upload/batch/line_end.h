/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the end of a line that is too long to be sent, a piece at a time. */
#ifndef GPUFL_UPLOAD_BATCH_LINE_END_H
#define GPUFL_UPLOAD_BATCH_LINE_END_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/stream.h"

/** \return where the search for the end of the line at the stream's position goes on; 0 =
 * it has not begun. */
uint64_t line_end_searched(const struct stream *stream);

/** Reads one more piece, from offset \p from of the stream's file; \p crc is the CRC-32C
 * of the line up to there. If there is more to read, the stream is queued again, behind
 * others. \return true when *\p end is the end, and the stream's search.crc that of the
 * line. */
bool line_end_find(struct stream *stream, uint64_t from, uint32_t crc, uint64_t *end);

#endif
