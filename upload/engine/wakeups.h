/* SPDX-License-Identifier: Apache-2.0 */
/* Hints to the engine that something changed, and what it wants to have watched. */
#ifndef GPUFL_UPLOAD_ENGINE_WAKEUPS_H
#define GPUFL_UPLOAD_ENGINE_WAKEUPS_H

#include <stdbool.h>
#include <stdint.h>

struct engine;

/** Hint: something changed in `<root>/<session path>` ("" = anywhere in the root). */
void engine_touch(struct engine *engine, unsigned root, const char *session_path);

/** Hint: \p file of that session grew, or several did (then ""), and nothing else
 * happened there. */
void engine_grew(struct engine *engine, unsigned root, const char *session_path,
                 const char *file);

/** Hint: the directory is gone and no longer watched, even if it comes back. */
void engine_unwatched(struct engine *engine, unsigned root, const char *session_path);

/** Hint: the directory is watched, although that was not asked for; or it is not,
 * although it was, and is asked for again after the next listing. */
void engine_note_watch(struct engine *engine, unsigned root, const char *session_path,
                       bool watched);

/** Inspects everything at the next turn, as after a lost event. */
void engine_rescan(struct engine *engine);

/** At the end of a turn: a run that ends does not wait for the next listing when there is
 * room for directories that wait. */
void wakeups_list_again(struct engine *engine);

/** From now on changes are not reported, or not all of them: what is not over is
 * inspected every \p interval_ms. */
void engine_poll(struct engine *engine, uint64_t interval_ms);

/** Changes are reported again. */
void engine_poll_end(struct engine *engine);

/** Visits the directories to watch, or no longer to watch, since the last call: each root
 * (session "") and each session once, and once more when it is done. */
void engine_visit_changed(struct engine *engine,
                          void (*visit)(void *arg, unsigned root, const char *root_path,
                                        const char *session_path, bool done),
                          void *arg);

#endif
