/* SPDX-License-Identifier: Apache-2.0 */
/* Adds folders to the engine, those that do not exist yet once they appear. */
#ifndef GPUFL_AGENT_LOOP_FOLDERS_H
#define GPUFL_AGENT_LOOP_FOLDERS_H

#include "agent/loop_state.h"

/** Adds each folder of the comma-separated \p list, which may be NULL. One that does not
 * exist is looked for later, but is an error with --exit-when-drained.
 *  \return GPUFL_OK, or an error with its reason in \p why. */
GPUFL_MUST gpufl_status loop_add_folders(struct loop *loop, const char *list,
                                         char why[512]);

/** Looks for the missing folders, every half second. */
void loop_find_missing_folders(struct loop *loop, uint64_t now_ms);

#endif
