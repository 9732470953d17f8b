/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON configuration file, in the existing agent's shape. */
#ifndef GPUFL_AGENT_CONFIG_H
#define GPUFL_AGENT_CONFIG_H

#include <gpufl/status.h>

#include "agent/options.h"

/** Applies \p path to \p out: `source{…}` or `sources[{…}]`, `publisher{…}`,
 * `archiver{…}` (refused), `agent{…}` for what the existing agent does not have. \return
 * GPUFL_OK or GPUFL_ERR_USAGE with one sentence in \p why. */
GPUFL_MUST gpufl_status config_read(const char *path, struct options *out, char why[512]);

/** The same for \p text, named \p path in sentences. */
GPUFL_MUST gpufl_status config_parse(const char *text, size_t len, const char *path,
                                     struct options *out, char why[512]);

#endif
