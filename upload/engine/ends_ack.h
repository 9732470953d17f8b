/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from an answer that tells where streams end. */
#ifndef GPUFL_UPLOAD_ENGINE_ENDS_ACK_H
#define GPUFL_UPLOAD_ENGINE_ENDS_ACK_H

#include <stdint.h>

#include "upload/core/session.h"
#include "upload/http/transport.h"

/** Handles the answer to the question for the ends of a session's streams, or for a
 * place. */
void ends_ack_reply(struct session *session, const struct transport_reply *reply,
                    uint64_t now_ms);

#endif
