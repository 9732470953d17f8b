/* SPDX-License-Identifier: Apache-2.0 */
/* Gives up what is gone, because a person says so, so that the rest goes on. */
#ifndef GPUFL_UPLOAD_RESOLVE_RESOLVE_H
#define GPUFL_UPLOAD_RESOLVE_RESOLVE_H

#include "upload/core/registry.h"
#include "upload/resolve/resolve_find.h"

/** Inspects the session \p path of \p root and gives up what keeps \p channel (NULL = all
 * of it) from going on. It is in the journal when this returns. \p out is
 * all zeros at first. While out->busy, a part of it is left: call it again with what
 * \p out tells of the part that is done, busy and why cleared. */
void resolve_session(struct root *root, const char *path, const char *channel,
                     struct resolve_result *out);

/** The same in the only root of \p engine. */
void resolve_in_first_root(struct engine *engine, const char *path, const char *channel,
                           struct resolve_result *out);

#endif
