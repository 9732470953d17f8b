/* SPDX-License-Identifier: Apache-2.0 */
/* When the windows that a dead 1.3 writer left unpublished are published. */
#ifndef GPUFL_UPLOAD_ENGINE_SESSION_SALVAGE_H
#define GPUFL_UPLOAD_ENGINE_SESSION_SALVAGE_H

#include "upload/core/session.h"

/** One step a look, so that nothing else waits for a large one; \p unpublished: a look
 * found such windows. \return why something
 * stays in `.tmp`, or NULL while it goes on. */
const char *session_salvage_step(struct session *session, bool unpublished);

#endif
