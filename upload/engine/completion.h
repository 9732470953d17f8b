/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the backend that a session is complete. */
#ifndef GPUFL_UPLOAD_ENGINE_COMPLETION_H
#define GPUFL_UPLOAD_ENGINE_COMPLETION_H

#include "upload/core/session.h"
#include "upload/http/transport.h"

/** Sends session-complete once everything is durably settled. */
void completion_step(struct session *session, uint64_t now_ms);

/** Handles the answer to that. */
void completion_on_reply(struct session *session, const struct transport_reply *reply,
                         uint64_t now_ms);

/** Marks it as complete at the backend. \return false if the journal cannot be written
 * now. */
bool completion_done(struct session *session);

#endif
