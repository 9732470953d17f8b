/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that a listing of their root named and that could not be read: that is no
 * evidence that a session in them is gone. */
#ifndef GPUFL_UPLOAD_CORE_KEPT_H
#define GPUFL_UPLOAD_CORE_KEPT_H

#include <stdbool.h>

#include "upload/core/registry.h"

/** Notes a directory of the listing that is under way, which cannot be read just now: it
 * is still there, and nothing in it is forgotten. */
void kept_directory(struct root *root, const char *path);

/** \return true if the session at \p path is in one of these. */
bool kept_has(const struct root *root, const char *path);

/** Forgets them, for the next listing. */
void kept_clear(struct root *root);

#endif
