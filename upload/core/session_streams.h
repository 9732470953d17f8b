/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of a session taken together: which there are, whether one of them is held,
 * blocked, or has something left to send. */
#ifndef GPUFL_UPLOAD_CORE_SESSION_STREAMS_H
#define GPUFL_UPLOAD_CORE_SESSION_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/stream.h"

/** The stream of \p channel, a new one if need be. \return NULL without memory, or when
 * the root has too many channels. */
struct stream *session_stream(struct session *session, const char *channel);

/** True when the session, or a stream of it, waits for a change in its directory. */
bool session_any_held(const struct session *session);

/** True when it is never complete as it is: quarantine, refusal, loss, held. */
bool session_blocked(const struct session *session);

/** True when nothing of it is left to send or to settle. */
bool session_settled(const struct session *session);

/** No list and no request refers to it or to a stream of it, and no watcher knows it. */
bool session_idle(const struct session *session);

/** One file of a live session grew: its channel waits for the flush interval, without a
 * look. \return false when only a look can tell what it means. */
bool session_grew(struct session *session, const char *file, uint64_t now_ms);

#endif
