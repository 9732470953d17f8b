/* SPDX-License-Identifier: Apache-2.0 */
/* Publishes the windows that a dead 1.3 writer left in `.tmp`. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_SESSION_SALVAGE_H
#define GPUFL_UPLOAD_LIFECYCLE_SESSION_SALVAGE_H

#include "upload/core/session.h"

/** Takes one step per inspection, so that nothing else waits for a large window; \p
 * unpublished: the inspection found such windows. \return why something stays in `.tmp`,
 * or NULL while it goes on. */
const char *session_salvage_step(struct session *session, bool unpublished);

/** Closes what it reads; the next step begins again with that. */
void session_salvage_stop(struct session *session);

#endif
