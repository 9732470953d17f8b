/* SPDX-License-Identifier: Apache-2.0 */
/* Has the kernel confine the agent (Landlock,
 * https://docs.kernel.org/userspace-api/landlock.html): it may read the watched
 * directories, names and certificates, write there and where its state lies, and connect
 * to the ports of the backend, the proxy and the resolver. It can execute nothing. What
 * code that took over the process could do ends there, too. */
#ifndef GPUFL_AGENT_CONFINE_H
#define GPUFL_AGENT_CONFINE_H

#include <gpufl/status.h>

#include "agent/options.h"

enum confine_mode { CONFINE_AUTO, CONFINE_OFF, CONFINE_REQUIRE };

/** Confines the calling thread and those that it starts: call it before the first.
 *  \return GPUFL_OK: \p said tells in words how far. GPUFL_ERR_IO: it could not be done
 *  although it is required; \p said holds one sentence. */
GPUFL_MUST gpufl_status confine(const struct options *options, char said[512]);

#endif
