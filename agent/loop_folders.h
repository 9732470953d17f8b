/* SPDX-License-Identifier: Apache-2.0 */
/* Hands folders to the engine, later those that are not there yet. */
#ifndef GPUFL_AGENT_LOOP_FOLDERS_H
#define GPUFL_AGENT_LOOP_FOLDERS_H

#include "agent/loop_state.h"

/** Adds each folder of the comma-separated \p list, which may be NULL. One that does not
 * exist is waited for, unless the run is to end when all is sent.
 *  \return GPUFL_OK, or an error with its reason in \p why. */
GPUFL_MUST gpufl_status loop_add_folders(struct loop *loop, const char *list,
                                         char why[512]);

/** Looks for the missing folders, every half second. */
void loop_find_missing_folders(struct loop *loop, uint64_t now_ms);

#endif
