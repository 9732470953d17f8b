/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine is told of changes, and what it asks to be told. */
#ifndef GPUFL_UPLOAD_ENGINE_WAKEUPS_H
#define GPUFL_UPLOAD_ENGINE_WAKEUPS_H

#include <stdbool.h>
#include <stdint.h>

struct engine;

/** Hint: something changed in `<root>/<session path>` ("" = anywhere in the root). */
void engine_touch(struct engine *engine, unsigned root, const char *session_path);

/** Hint: \p file of that session grew, or several did ("" then), and nothing else
 * happened there. */
void engine_grew(struct engine *engine, unsigned root, const char *session_path,
                 const char *file);

/** Hint: the directory went, and nobody watches it any more, should it be there again. */
void engine_unwatched(struct engine *engine, unsigned root, const char *session_path);

/** Looks at everything anew at the next turn, as after a lost event. */
void engine_rescan(struct engine *engine);

/** From now on nobody tells what changes, or not all of it: what is not over is looked at
 * every \p interval_ms. */
void engine_poll(struct engine *engine, uint64_t interval_ms);

/** Visits the directories whose watching is to change since the last call: each root
 * (session
 *  "") and each session once, and once more when it is done. */
void engine_visit_changed(struct engine *engine,
                          void (*visit)(void *arg, unsigned root, const char *root_path,
                                        const char *session_path, bool done),
                          void *arg);

#endif
