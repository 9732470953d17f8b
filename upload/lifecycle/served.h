/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a directory has an uploader already, as the engine sees it. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_SERVED_H
#define GPUFL_UPLOAD_LIFECYCLE_SERVED_H

#include <stdbool.h>

#include "upload/core/engine_state.h"

/** \return true if the group \p dir is left to another uploader, see other_uploader.h.
 */
bool served_has_group(const struct engine *engine, int dir);

/** Call it when \p dir is locked by another process, where a person is told of it and can
 * overrule it. \return true if that may be an uploader: its user has a say there, or it
 * has a file open that is named like the lock of a journal. Anybody can have one. */
bool served_lock_counts(const struct engine *engine, int dir);

#endif
