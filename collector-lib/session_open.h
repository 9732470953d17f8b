/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up on disk what a session is to be, opens its directory, and gives up a disk that
 * does not return. */
#ifndef GPUFL_COLLECTOR_SESSION_OPEN_H
#define GPUFL_COLLECTOR_SESSION_OPEN_H

#include "collector-lib/core/session_dir.h"
#include "collector-lib/core/settings.h"

/** One that is under way, or was given up. */
struct session_opening;

/** Reads the configuration file, completes \p settings, which settings_begin has begun,
 * finds the source roots and opens a new directory: within the time that a session has to
 * end. \p opening is NULL at first, and set meanwhile. \return as settings_join and
 * session_dir_open, with errno, or GPUFL_ERR_NOMEM. If the disk does not return in time,
 * or still has not, GPUFL_ERR_IO after a message, with ETIMEDOUT or EBUSY, and \p opening
 * stays set. What was made on it is removed once it returns. Then, and with GPUFL_OK,
 * the thread of files goes on. */
gpufl_status session_open(struct session_dir *dir, const struct gpufl_init_options *given,
                          struct settings *settings, struct session_opening **opening,
                          char why[256]);

/** In a forked child: closes what has been opened so far, and \p dir, if the child has
 * that. \return memory that nothing refers to any more. */
const void *session_open_after_fork(struct session_opening **opening,
                                    struct session_dir *dir);

#endif
