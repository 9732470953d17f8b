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

/** \return the first channel that is waited for, else NULL. */
const struct stream *shutdown_awaits(const struct stream *stream, uint64_t now_ms);

/** Queues the other streams that wait at their shutdown line, once the last stream has
 * reached its own. */
void shutdown_release(const struct stream *stream, uint64_t now_ms);

/** \return true if the last settled line of the stream is its shutdown, for layouts
 * without a lock to probe, or if a person gave up what may have held it. */
bool shutdown_is_last(const struct stream *stream);

/** Reads the last window that is there of each 1.3 channel, once in a run. With
 * gz_cache.busy, the next inspection goes on. */
void shutdown_look(struct session *session);

/** A 1.3 writer begins each of its channels by a job_start, and ends it by its shutdown.
 * \return true if a channel has the latter: then each one had a window. A writer that
 * was killed wrote none, and one that dropped rows has said so. */
bool shutdown_ends(const struct session *session);

/** \return true if that is so, and this channel has no shutdown: its last window is gone,
 * even if no name is left of it, or of the whole channel. What a person has given up may
 * be that window. */
bool shutdown_lacks_window(const struct stream *stream);

/** \return true if all last windows were read, and none is missing: they may be deleted.
 */
bool shutdown_windows_told(const struct session *session);

#endif
