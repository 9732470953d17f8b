/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl-agent --check`: whether the agent would work with these settings. */
#ifndef GPUFL_AGENT_TRIAL_H
#define GPUFL_AGENT_TRIAL_H

#include <stdbool.h>

#include "agent/options/options.h"

/** Exit status of a trial: the agent would send nothing. */
#define TRIAL_FAILED 2

/** Does what the start does up to where it makes something, and asks the backend with the
 * key. Sends no line, takes no lock and writes nothing. Says on stderr what would not
 * work, or on stdout that all does, and what stands in the way now.
 * \return the exit status: 0 or TRIAL_FAILED. */
int trial_run(const struct options *options, bool have_inotify);

#endif
