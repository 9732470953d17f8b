/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions whose directory was moved to another root. Two journals cannot be changed at
 * once: until the first one has forgotten the session, both may know it, and what one
 * knows is merged into the other. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_MOVED_ROOT_H
#define GPUFL_UPLOAD_LIFECYCLE_MOVED_ROOT_H

#include "upload/core/session.h"

enum moved_root {
    MOVED_ROOT_NOT,   /**< it is another directory */
    MOVED_ROOT_WAITS, /**< it is to be looked at again */
    MOVED_ROOT_DONE,
};

/** If the directory that was seen of \p session is the one that was known at \p path
 * below another root, \p from, or below the same one, where another uploader has told
 * what it knows of it at its new path: what is known goes to the journal of the session's
 * root, and once it is on disk, it is forgotten in that of \p from. */
enum moved_root moved_follow_root(struct session *session, struct root *from,
                                  const char *path);

/** The same for all other roots that know the session at the same path or right below
 * them, as they may after a crash. \return true if \p session is to wait. */
bool moved_waits_for_roots(struct session *session);

/** A person says that \p to, of which nothing was sent, is the session that is known at
 * \p path, where its directory is not. \return false if that is not possible now. */
bool moved_hand_over(struct root *root, const char *path, struct session *to);

#endif
