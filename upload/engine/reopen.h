/* SPDX-License-Identifier: Apache-2.0 */
/* Roots whose path names another directory than the one that is open, because that was
 * moved, deleted, mounted over or unmounted. What the path names now is opened anew, as
 * after a restart; while it names nothing that can be served, the root is away. */
#ifndef GPUFL_UPLOAD_ENGINE_REOPEN_H
#define GPUFL_UPLOAD_ENGINE_REOPEN_H

#include <stdint.h>

struct engine;

/** Says that the process has confined itself to the directories that are open now: it can
 * open nothing that is put in their place. */
void engine_bind(struct engine *engine);

/** \return the path of a root that was replaced by what the process may not open; NULL =
 * none. Cheap. */
const char *engine_denied_root(const struct engine *engine);

/** Looks at root number \p index when a listing of it is due. */
void reopen_step(struct engine *engine, unsigned index, uint64_t now_ms);

#endif
