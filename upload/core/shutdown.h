/* SPDX-License-Identifier: Apache-2.0 */
/* The order at the end of a session: each channel's `shutdown` line is sent after all
 * other lines of the session. */
#ifndef GPUFL_UPLOAD_CORE_SHUTDOWN_H
#define GPUFL_UPLOAD_CORE_SHUTDOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/stream.h"

/** \return true if the stream's shutdown line may be sent: all other channels are at or
 * past their own, or the writer is gone and they are empty, so nothing earlier is left
 * anywhere. A writer that cannot be probed and that died between two of these lines is
 * not waited for forever. */
bool shutdown_may_go(const struct stream *stream, uint64_t now_ms);

/** Queues the other streams that wait at their shutdown line, once the last stream has
 * reached its own. */
void shutdown_release(const struct stream *stream, uint64_t now_ms);

/** \return true if the last settled line of the stream is its shutdown, for layouts
 * without a lock to probe, or if a person gave up what may have held it. */
bool shutdown_is_last(const struct stream *stream);

#endif
