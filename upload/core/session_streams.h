/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of a session together: finding one, and whether any is held, blocked or has
 * something left to send. */
#ifndef GPUFL_UPLOAD_CORE_SESSION_STREAMS_H
#define GPUFL_UPLOAD_CORE_SESSION_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/stream.h"

/** Frees a session that nothing refers to any more: see session_idle. */
void session_drop(struct session *session);

/** Counts the streams that it has now in the share of its owner. */
void session_charge_streams(struct session *session);

/** \return the stream of \p channel, created if need be; NULL without memory, or if the
 * root has too many channels. */
struct stream *session_stream(struct session *session, const char *channel);

/** Takes all ranges of the session out of quarantine. */
void session_unlist_ranges(struct session *session);

/** \return true if the session, or a stream of it, waits for a change in its directory.
 */
bool session_any_held(const struct session *session);

/** \return true if the session is held, or the hold of a stream of it stands. */
bool session_hold_stands(const struct session *session);

/** Has the holds, and what is settled, published anew if that is not the same as when it
 * was called last. Call it after an inspection. */
void session_note_holds(struct session *session);

/** \return true if positions do not tell all of where it ends. */
bool session_hides_end(const struct session *session);

/** \return the stamp of its files, as scan_stamp() has it, if all that was in them then
 * is settled, and the inspection after that has judged it; else 0. */
uint32_t session_settled_stamp(const struct session *session);

/** \return true if something of it was sent, or may have been. */
bool session_begun(const struct session *session);

/** \return true if the backend had it complete from another user's directory: what it has
 * was sent from there, and this one is held. */
bool session_is_foreign(const struct session *session);

/** \return true if some of it was sent to an earlier backend and deleted since. */
bool session_falls_short(const struct session *session);

/** \return true if the backend was told by others that lines of it are lost. */
bool session_is_lost_elsewhere(const struct session *session);

/** \return true if a stream has a stream_lost_reason(). */
bool session_is_lost(const struct session *session);

/** \return true if it cannot become complete as it is: quarantine, refusal, loss, held,
 * files that are not read. */
bool session_blocked(const struct session *session);

/** As session_blocked, but not for what its recorder dropped: that is in no file, so that
 * nobody can send it. */
bool session_blocked_otherwise(const struct session *session);

/** \return true if nothing of it is left to send or to settle. */
bool session_settled(const struct session *session);

/** \return true if one of its streams is in a queue. */
bool session_queued(const struct session *session);

/** \return true if a list, its end's request or a watcher refers to it or to a stream. */
bool session_is_referenced(const struct session *session);

/** \return true if nothing refers to it or to a stream of it, and no stream has an offer.
 */
bool session_idle(const struct session *session);

/** Notes that a file of a live session grew, or several did (then ""): their channels are
 * due after the flush interval, without an inspection. What is written to its lock file
 * needs none, either, unless a next file is waited for. \return false if only an
 * inspection can tell what it means. */
bool session_grew(struct session *session, const char *file, uint64_t now_ms);

#endif
