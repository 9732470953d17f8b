/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON configuration file, in the existing agent's shape. */
#ifndef GPUFL_AGENT_OPTIONS_CONFIG_H
#define GPUFL_AGENT_OPTIONS_CONFIG_H

#include <gpufl/status.h>

#include "agent/options/options.h"

/** Applies the file \p path to \p out: `source{…}` or `sources[{…}]`, `publisher{…}`,
 * `archiver{…}` (refused), `agent{…}` for what the existing agent does not have.
 *  \return GPUFL_OK or GPUFL_ERR_USAGE with `FILE:LINE:COLUMN: KEY: why` in \p why. */
GPUFL_MUST gpufl_status config_read(const char *path, struct options *out, char why[512]);

/** A configuration file that has been read. */
struct config_text {
    const char *path; /**< its name in messages */
    const char *text;
    size_t len;
};

/** As config_read. */
GPUFL_MUST gpufl_status config_parse(const struct config_text *file, struct options *out,
                                     char why[512]);

#endif
