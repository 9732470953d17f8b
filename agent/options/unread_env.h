/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of the environment that look like the agent's and that nothing reads. */
#ifndef GPUFL_AGENT_OPTIONS_UNREAD_ENV_H
#define GPUFL_AGENT_OPTIONS_UNREAD_ENV_H

#include "base/log.h"

/** \p near is the variable that may have been meant, NULL = unknown. */
typedef void unread_env_say(void *arg, const char *name, const char *near);

/** Says each GPUFL_AGENT_* variable in \p environment (as environ(7)) that no option
 * has. */
void unread_env_each(char *const *environment, unread_env_say *say, void *arg);

/** Warns of each GPUFL_AGENT_* variable in \p environment (as environ(7)) that no option
 * has, and suggests the nearest. */
void unread_env_warn(const struct log *log, char *const *environment);

#endif
