/* SPDX-License-Identifier: Apache-2.0 */
/* Which files and directories a confined agent may touch. */
#ifndef GPUFL_AGENT_CONFINE_PATHS_H
#define GPUFL_AGENT_CONFINE_PATHS_H

#include <limits.h>
#include <stdbool.h>

#include "agent/landlock.h"
#include "agent/options/options.h"
#include "upload/journal/state_dir.h"

/** Allows to read and write the watched folders and where their state lies, which is made
 * if \p use is STATE_MAKE. \return false when a folder does not exist, nor any directory
 * above it but /: it is in \p missing. */
bool confine_allow_folders(const struct landlock *rules, const struct options *options,
                           enum state_use use, char missing[PATH_MAX]);

/** Allows to read what name lookups and TLS need. */
void confine_allow_system(const struct landlock *rules);

/** Allows to read the files that the options name, also after they were replaced. */
void confine_allow_own_files(const struct landlock *rules, const struct options *options);

#endif
