/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that another tool has sent: the upload cursor names them, and the backend
 * confirms it by refusing their lines because the session is closed. */
#ifndef GPUFL_UPLOAD_ENGINE_SENT_ELSEWHERE_H
#define GPUFL_UPLOAD_ENGINE_SENT_ELSEWHERE_H

#include <stdbool.h>

struct session;

/** For a session that the backend has closed. \return true if the upload cursor says that
 * it was sent, nobody else could have written that, and nothing in it is newer. */
bool sent_elsewhere(const struct session *session);

#endif
