/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a lock on a directory is: any user who can open a directory can lock it. */
#ifndef GPUFL_UPLOAD_SOURCE_LOCK_HOLDER_H
#define GPUFL_UPLOAD_SOURCE_LOCK_HOLDER_H

#include <stdbool.h>

/** True if the locks (flock) on the directory \p dir are known to be held by nobody but
 * users who have no say there: neither our user, nor root, nor the directory's owner,
 * nor, unless \p service says that we are one, an account that services run as. A process
 * that has ended has no say either, if a child kept its lock. False in doubt: if the
 * kernel does not name the holder, or hides it. */
bool lock_holder_is_foreign(int dir, bool service);

#endif
