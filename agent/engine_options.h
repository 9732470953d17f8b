/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent's options mean for the engine. */
#ifndef GPUFL_AGENT_ENGINE_OPTIONS_H
#define GPUFL_AGENT_ENGINE_OPTIONS_H

#include "agent/options.h"
#include "upload/engine.h"

/** Fills \p config from the defaults and \p o; log, transport and syncer are the
 * caller's. */
void engine_options(const struct options *o, struct engine_config *config);

#endif
