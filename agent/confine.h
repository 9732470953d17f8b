/* SPDX-License-Identifier: Apache-2.0 */
/* Has the kernel confine the agent by Landlock: it may read the watched directories,
 * names and certificates, write there and where its state lies, and connect to the ports
 * of the backend, the proxy and the resolver. It can execute nothing. The same holds for
 * code that takes over the process. */
#ifndef GPUFL_AGENT_CONFINE_H
#define GPUFL_AGENT_CONFINE_H

#include <stdbool.h>

#include <gpufl/status.h>

#include "agent/options/options.h"
#include "upload/journal/state_dir.h"

/** Confines the calling thread and those that it starts: call it before the first. Makes
 * state directories if \p use is STATE_MAKE.
 *  \return GPUFL_OK: \p said describes how far. GPUFL_ERR_IO: not possible although it is
 *  required; \p said holds the reason. */
GPUFL_MUST gpufl_status confine(const struct options *options, enum state_use use,
                                char said[512]);

/** \return true if \p said, as confine wrote it, says that the process is confined. */
bool confine_is_on(const char *said);

#endif
