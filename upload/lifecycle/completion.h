/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the backend that a session is complete. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_COMPLETION_H
#define GPUFL_UPLOAD_LIFECYCLE_COMPLETION_H

#include "upload/core/session.h"
#include "upload/http/transport.h"
#include "upload/published/progress_file.h"

/** \return true if it is to be completed and what was settled is not on disk yet. */
bool completion_waits_for_disk(const struct session *session);

/** \return true if session-complete may be sent from complete_at_ms on. */
bool completion_may_go(const struct session *session);

/** All of it is sent, and its writer is gone: that is to be told, if the backend has not
 * contradicted it just now. */
void completion_begin(struct session *session, uint64_t now_ms);

/** Sends one session-complete that is due, unless one is under way. Batches of others may
 * want every request: this one comes before them, except while the origin fails. */
void completion_first(struct engine *engine, uint64_t now_ms);

/** Sends one session-complete that is due, once everything of the session is durably
 * settled. The owners of sessions take turns. \return false if there is none, or no
 * request may be made. */
bool completion_step(struct engine *engine, uint64_t now_ms);

/** Handles the answer to that. */
void completion_on_reply(struct session *session, const struct transport_reply *reply,
                         uint64_t now_ms);

/** Marks it as complete at the backend. \return false if the journal cannot be written
 * now. */
bool completion_done(struct session *session);

/** \return the backend of the settings, as marks in directories name it. */
struct progress_origin completion_origin(const struct engine *engine);

#endif
