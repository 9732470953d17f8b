/* SPDX-License-Identifier: Apache-2.0 */
/* The order at the end of a session: a channel's `shutdown` line goes out behind all
 * other lines of the session. */
#ifndef GPUFL_UPLOAD_CORE_SHUTDOWN_H
#define GPUFL_UPLOAD_CORE_SHUTDOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/stream.h"

/** True when the stream's shutdown line may go: all other channels are at their own
 * shutdown, or behind it, or the writer is gone and they are empty, so nothing earlier is
 * left anywhere. A writer that nobody can probe and that died between two of these lines
 * is not waited for for ever. */
bool shutdown_may_go(const struct stream *stream, uint64_t now_ms);

/** The last stream to reach its shutdown lets the others go, which waited at theirs. */
void shutdown_release(const struct stream *stream, uint64_t now_ms);

/** True when the last settled line of the stream is its shutdown: for layouts without a
 * lock to probe. */
bool shutdown_is_last(const struct stream *stream);

#endif
