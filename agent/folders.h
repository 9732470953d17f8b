/* SPDX-License-Identifier: Apache-2.0 */
/* Comma lists of folders and channels. */
#ifndef GPUFL_AGENT_FOLDERS_H
#define GPUFL_AGENT_FOLDERS_H

#include <stdbool.h>

#include <gpufl/status.h>

#include "upload/engine/engine.h"
#include "upload/source/select.h"

/** Reads `device,scope,…`; blanks and empty parts are skipped.
 *  \return GPUFL_OK or GPUFL_ERR_USAGE with one sentence in \p why. */
GPUFL_MUST gpufl_status folders_read_channels(const char *list,
                                              struct engine_channels *out, char why[512]);

/** True when one of the folders lies on a network file system. \p list may be NULL. */
bool folders_any_remote(const char *list);

/** Adds the sessions that are in folder \p path to \p into. */
gpufl_status folders_list(const char *path, struct selection *into);

#endif
