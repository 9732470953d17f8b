/* SPDX-License-Identifier: Apache-2.0 */
/* Tells readers in the lock file which active files the writer has. */
#ifndef GPUFL_COLLECTOR_CORE_ACTIVE_TOLD_H
#define GPUFL_COLLECTOR_CORE_ACTIVE_TOLD_H

#include "collector-lib/core/channel_file.h"
#include "collector-lib/core/session_lock.h"

/** Replaces what the lock file tells of \p file, one for each channel. \p appending: the
 * channel of which the next write appends what is told, but not yet in its file;
 * CHANNEL_COUNT = none. */
void active_told_write(const struct session_lock *lock,
                       const struct channel_file file[CHANNEL_COUNT],
                       enum channel appending);

#endif
