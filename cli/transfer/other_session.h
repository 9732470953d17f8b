/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a directory whose manifest names another session is a copy of that one. */
#ifndef GPUFL_CLI_TRANSFER_OTHER_SESSION_H
#define GPUFL_CLI_TRANSFER_OTHER_SESSION_H

#include "upload/core/held.h"

/** \return HELD_COPY if the session \p id lies beside \p path or right below \p root,
 * else HELD_RENAMED; or what the uploader found, which knows directories again. */
enum held_reason other_session_reason(int root, const char *path, const char *id);

#endif
