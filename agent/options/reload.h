/* SPDX-License-Identifier: Apache-2.0 */
/* SIGHUP: reads the settings again. */
#ifndef GPUFL_AGENT_OPTIONS_RELOAD_H
#define GPUFL_AGENT_OPTIONS_RELOAD_H

#include <gpufl/status.h>

#include "agent/options/options.h"

/** Reads flags, environment and file as at startup and applies to \p options what the
 * option table calls reloadable. \p kept gets the flags of the others that changed,
 * separated by spaces; they need a restart.
 *  \return GPUFL_OK, or an error with its reason in \p why: nothing was changed. */
GPUFL_MUST gpufl_status reload_options(int argc, char **argv, struct options *options,
                                       char kept[512], char why[512]);

#endif
