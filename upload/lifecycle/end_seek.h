/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where a stream goes on: asks the backend where it ends, and proves that. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_END_SEEK_H
#define GPUFL_UPLOAD_LIFECYCLE_END_SEEK_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/offer.h"
#include "upload/http/reply_positions.h"

/** \return true if the stream may be read: it is known where it ends at the backend. */
bool end_seek_is_over(const struct stream *stream);

/** Does one step of it. The stream is queued again when there is an answer. */
enum made end_seek(struct stream *stream);

/** The backend has told the end of a stream, which is to be proved before it goes on. */
void end_seek_told(struct stream *stream, const struct reply_end *end, uint64_t now_ms);

/** What the backend says of a stream is \p reason to hold it: as long as its files do not
 * change, its end is asked for again every 10 minutes. */
void end_seek_rest(struct stream *stream, enum held_reason reason, uint64_t now_ms);

/** A stream goes on: without positions, what was told of its end before is no longer so.
 */
void end_seek_forget(struct stream *stream);

/** \return true if each end of a channel that is followed was proved in the backend's
 * present epoch. */
bool end_seek_had_all(const struct session *session);

/** Retention has deleted the session, which is held. Of one that was complete, the ends
 * are asked for first, which the backend keeps: it may have gone back before that. */
void end_seek_expired(struct session *session, uint64_t now_ms);

/** The backend has told all streams of a session. */
void end_seek_told_all(struct session *session, const struct reply_streams *told,
                       uint64_t now_ms);

#endif
