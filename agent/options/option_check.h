/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold for the options together, once all sources are read. */
#ifndef GPUFL_AGENT_OPTIONS_OPTION_CHECK_H
#define GPUFL_AGENT_OPTIONS_OPTION_CHECK_H

#include <gpufl/status.h>

#include "agent/options/options.h"

/** \return GPUFL_OK or GPUFL_ERR_USAGE with `NAME: why` in \p why, in the words of the
 * flag, variable or key that was used. */
GPUFL_MUST gpufl_status option_check(const struct options *options, char why[512]);

#endif
