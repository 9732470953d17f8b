/* SPDX-License-Identifier: Apache-2.0 */
/* Groups: directories below a root that contain sessions. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_GROUP_H
#define GPUFL_UPLOAD_LIFECYCLE_GROUP_H

#include "upload/core/engine_state.h"

/** The steps that follow list the directory \p name, before they go on with the root. */
void group_open(struct root *root, const char *name);

/** Closes the one that has been listed. */
void group_end(struct root *root);

/** Takes the one that is being listed out of the root, for another one. */
struct group group_set_aside(struct root *root);

/** Puts it back. The next listing goes on with the other one, if that has not ended. */
void group_resume(struct root *root, const struct group *aside);

/** Opens the directory of the session \p name if there are any directories in it:
 * whatever made it a session, those may be sessions of their own. */
void group_look_below(struct root *root, const char *name);

/** The next listing does that, if there are any. */
void group_look_later(struct root *root, const char *name);

/** Says, once, that a session was found in \p group ("" = none) if that is one, too:
 * anybody who may write to a group can make it look like a session. */
void group_say_beside(const struct root *root, const char *group);

#endif
