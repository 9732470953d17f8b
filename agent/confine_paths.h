/* SPDX-License-Identifier: Apache-2.0 */
/* Which files and directories a confined agent may touch. */
#ifndef GPUFL_AGENT_CONFINE_PATHS_H
#define GPUFL_AGENT_CONFINE_PATHS_H

#include <stdbool.h>

#include "agent/landlock.h"
#include "agent/options/options.h"

/** Allows to read and write the watched folders and where their state lies. \return
 * false when a folder does not exist, nor any directory above it but /. */
bool confine_allow_folders(const struct landlock *rules, const struct options *options);

/** Allows to read what name lookups and TLS need. */
void confine_allow_system(const struct landlock *rules);

/** Allows to read the files that the options name, also after they were replaced. */
void confine_allow_own_files(const struct landlock *rules, const struct options *options);

#endif
