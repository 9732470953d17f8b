/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a directory has an uploader of its own. Anybody who can open a directory can
 * lock it, so a lock alone does not say so. */
#ifndef GPUFL_UPLOAD_PUBLISHED_OTHER_UPLOADER_H
#define GPUFL_UPLOAD_PUBLISHED_OTHER_UPLOADER_H

#include <stdbool.h>

#include "upload/journal/state_dir.h"
#include "upload/source/lock_holder.h"

/** \return true if another process holds the lock of an uploader on \p dir. */
bool other_uploader_locks(int dir);

/** Call it when \p dir is locked by another process.
 *  \return true if that may be an uploader: its user has a say there, or a service tells
 * in its runtime directory that it serves \p dir. */
bool other_uploader_has_say(int dir, enum lock_viewer viewer);

/** \return true if the group \p dir is left to another uploader: one that serves it, as
 * above, or one that has left its journal there. */
bool other_uploader_has_group(int dir, enum lock_viewer viewer);

/** \return true if another process keeps the journal in \p place: its lock is in the
 * state directory, where others cannot take it. */
bool other_uploader_keeps(const struct state_place *place);

#endif
