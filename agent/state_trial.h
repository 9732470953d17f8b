/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the journals of the folders, and what is published, have a place. */
#ifndef GPUFL_AGENT_STATE_TRIAL_H
#define GPUFL_AGENT_STATE_TRIAL_H

#include <stdbool.h>

#include <gpufl/status.h>

#include "agent/options/options.h"

/** Examines the state directories that the engine would choose, and the journals in them;
 * makes nothing. A folder that does not exist yet is left out where its journal would be
 * in it. \return GPUFL_OK, or why there is no place, in one sentence. */
GPUFL_MUST gpufl_status state_trial(const struct options *options, char why[512]);

/** Examines the runtime directory that systemd names, if any. An agent runs without one.
 * \return false if other users' programs will not see what it serves: \p why says why. */
bool state_trial_runtime(char why[512]);

#endif
