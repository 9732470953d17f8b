/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that another uploader serves, or has served: their sessions are its own. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_OTHER_ROOT_H
#define GPUFL_UPLOAD_LIFECYCLE_OTHER_ROOT_H

#include <stdbool.h>

#include "upload/core/registry.h"

/** Call it when \p dir is locked by another process, where a person is told of it and can
 * overrule it. \return true if that may be an uploader: its user has a say there, or it
 * has a file open that is named like the lock of a journal. Anybody can have one. */
bool other_root_lock_counts(const struct engine *engine, int dir);

/** \return true if another uploader serves the directory \p dir, by its exclusive lock on
 * it: see other_uploader.h. */
bool other_root_serves(const struct engine *engine, int dir);

/** \return true if the directory \p name below the root is one of these, which is said;
 * then nothing that is known of it is forgotten. */
bool other_root_is(struct root *root, const char *name);

/** A whole listing of the root has ended. */
void other_root_listed(struct root *root);

/** \return how many of them that listing found, or the one under way. */
unsigned other_root_count(const struct root *root);

/** \return the name of one of them; NULL = not so many are named. */
const char *other_root_name(const struct root *root, unsigned index);

/** \return the name of one of them in which an upload has chosen sessions, and the
 * \p owner of that directory; NULL = there is none. */
const char *other_root_left(const struct root *root, uint32_t *owner);

void other_root_close(struct root *root);

#endif
