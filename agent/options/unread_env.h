/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of the environment that look like the agent's and that nothing reads. */
#ifndef GPUFL_AGENT_OPTIONS_UNREAD_ENV_H
#define GPUFL_AGENT_OPTIONS_UNREAD_ENV_H

#include "base/log.h"

/** Warns of each GPUFL_AGENT_* variable in \p environment (as environ(7)) that no option
 * has, and suggests the nearest. */
void unread_env_warn(const struct log *log, char *const *environment);

#endif
