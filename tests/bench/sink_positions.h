/* SPDX-License-Identifier: Apache-2.0 */
/* What the sink knows of positions: it takes each part for the one it waited for. */
#ifndef GPUFL_TESTS_BENCH_SINK_POSITIONS_H
#define GPUFL_TESTS_BENCH_SINK_POSITIONS_H

#include <stdbool.h>
#include <stddef.h>

/** A body that begins with the frame of a list has no more of it than this. */
#define SINK_LIST_MAX 2048u

/** Where the lines begin in a body of which \p len bytes are there, after the zstd frame
 * of the line that lists the part. \return 0 when it has no such frame. */
size_t sink_lines_at(const char *body, size_t len);

/** Writes the reply that the part in \p body is stored. \return false when the body does
 * not list one. */
bool sink_reply_stored(char *out, size_t cap, const char *body, size_t len);

#endif
