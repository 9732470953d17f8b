/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that the backend's retention has deleted: nothing of them is sent again. */
#ifndef GPUFL_UPLOAD_CORE_EXPIRED_H
#define GPUFL_UPLOAD_CORE_EXPIRED_H

#include <stdbool.h>

#include "upload/core/stream.h"

/** The backend says that the stream has expired: it is held. */
void expired_note(struct stream *stream);

/** \return true if the backend said so of any stream of the session. */
bool expired_session(const struct session *session);

/** \return true if it said so in its present epoch: until that changes, it is not asked
 * again. */
bool expired_for_now(const struct session *session);

#endif
