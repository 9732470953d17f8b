/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a directory has an uploader already. Anybody who can open a directory can lock
 * it, so a lock alone does not say so. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_SERVED_H
#define GPUFL_UPLOAD_LIFECYCLE_SERVED_H

#include <stdbool.h>

#include "upload/core/engine_state.h"

/** Call it when \p dir is locked by another process.
 *  \return true if that may be an uploader: its user has a say there, or a service tells
 * in its runtime directory that it serves \p dir. */
bool served_lock_has_say(const struct engine *engine, int dir);

/** Likewise, where a person is told of it and can overrule it: also true if the process
 * has a file open that is named like the lock of a journal. Anybody can have one. */
bool served_lock_counts(const struct engine *engine, int dir);

#endif
