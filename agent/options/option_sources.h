/* SPDX-License-Identifier: Apache-2.0 */
/* Where values come from: flags over environment over configuration file over defaults.
 */
#ifndef GPUFL_AGENT_OPTIONS_OPTION_SOURCES_H
#define GPUFL_AGENT_OPTIONS_OPTION_SOURCES_H

#include <gpufl/status.h>

#include "agent/options/options.h"

/** Reads all of them. Secrets are wiped from \p argv and the environment.
 *  \return GPUFL_OK or an error with `WHERE: why` in \p why; release \p out either way.
 */
GPUFL_MUST gpufl_status option_sources_read(int argc, char **argv, struct options *out,
                                            char why[512]);

#endif
