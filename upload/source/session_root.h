/* SPDX-License-Identifier: Apache-2.0 */
/* Notices that a session was named where the directory of sessions is expected. */
#ifndef GPUFL_UPLOAD_SOURCE_SESSION_ROOT_H
#define GPUFL_UPLOAD_SOURCE_SESSION_ROOT_H

#include <stdbool.h>

#include "base/sys.h"

/** Whether \p path is a session itself: it holds a manifest, a lock or files of a channel
 * that belong to its owner, and no session. \p why then says so and names the directory
 * above; \p also, which may be "", is what else can be given. */
bool session_root_is_session(const struct sys *sys, const char *path, const char *also,
                             char why[512]);

#endif
