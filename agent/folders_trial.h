/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the folders could be served, each by itself and beside the others. */
#ifndef GPUFL_AGENT_FOLDERS_TRIAL_H
#define GPUFL_AGENT_FOLDERS_TRIAL_H

#include <gpufl/status.h>

#include "agent/options/options.h"

/** Examines one folder, which may not exist yet unless --exit-when-drained is given.
 *  \return GPUFL_OK; else \p why says what is wrong with it, by its flag. */
GPUFL_MUST gpufl_status folder_trial(const struct options *options, const char *path,
                                     char why[512]);

/** Examines all of them, and how they lie in one another. */
GPUFL_MUST gpufl_status folders_trial(const struct options *options, char why[512]);

#endif
