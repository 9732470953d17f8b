/* SPDX-License-Identifier: Apache-2.0 */
/* Notices that a session was named where the directory of sessions is expected, or a
 * directory above that. */
#ifndef GPUFL_UPLOAD_SOURCE_SESSION_ROOT_H
#define GPUFL_UPLOAD_SOURCE_SESSION_ROOT_H

#include <stdbool.h>

#include "base/sys.h"

/** Whether \p path is a session itself: it holds a manifest, a lock or files of a channel
 * that belong to its owner, and no session. \p why then says so and names the directory
 * above; \p also, which may be "", is what else can be given. */
bool session_root_is_session(const struct sys *sys, const char *path, const char *also,
                             char why[512]);

/** Where sessions lie, for messages about a directory that has none. */
#define SESSION_DEPTH_EXPECTED "expected SESSION or GROUP/SESSION in it"

enum session_depth {
    SESSION_DEPTH_FOUND,   /**< some are where they are looked for */
    SESSION_DEPTH_BELOW,   /**< some of ours, or of its owner, are too deep to be found */
    SESSION_DEPTH_NONE,    /**< there are none */
    SESSION_DEPTH_UNKNOWN, /**< there is too much in it, or it cannot be opened */
};

/** Looks at some thousand names in \p path and below. \p why says where to look instead
 * for SESSION_DEPTH_BELOW. */
enum session_depth session_depth_of(const struct sys *sys, const char *path,
                                    char why[512]);

#endif
