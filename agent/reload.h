/* SPDX-License-Identifier: Apache-2.0 */
/* SIGHUP: reads the settings again. */
#ifndef GPUFL_AGENT_RELOAD_H
#define GPUFL_AGENT_RELOAD_H

#include <gpufl/status.h>

#include "agent/options.h"

/** Reads flags, environment and file as at the start and takes over what can be changed
 * in a running agent. \p kept gets the names of those that changed and need a restart,
 * separated by blanks, "" = none.
 *  \return GPUFL_OK, or GPUFL_ERR_USAGE: nothing was taken over, \p why says why. */
GPUFL_MUST gpufl_status reload_options(int argc, char **argv, struct options *options,
                                       char kept[512], char why[512]);

#endif
