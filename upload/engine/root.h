/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing a watched root. */
#ifndef GPUFL_UPLOAD_ENGINE_ROOT_H
#define GPUFL_UPLOAD_ENGINE_ROOT_H

#include "upload/core/registry.h"

/** \return as engine_add_root. */
GPUFL_MUST gpufl_status root_open(struct engine *engine, const char *path,
                                  const struct engine_channels *channels,
                                  struct root **out, char why[512]);

/** \return what stands in for \p root while that cannot be opened: without a directory,
 * sessions or a journal on disk; NULL without memory. */
struct root *root_vacant(const struct root *root);

/** Takes the lock on the root once another user has released it. */
void root_lock_again(struct root *root);

/** Closes the journal, which is synced first, and frees what is known of the root. */
void root_close(struct root *root);

#endif
