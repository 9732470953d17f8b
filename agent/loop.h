/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's life after its options are known. */
#ifndef GPUFL_AGENT_LOOP_H
#define GPUFL_AGENT_LOOP_H

#include <stdbool.h>

#include "agent/options.h"

/** Runs until a signal, or until drained where that is asked for. SIGTERM and SIGINT must
 * be blocked. \p have_inotify: watch_init succeeded. \return the exit code. */
int loop_run(const struct options *options, bool have_inotify);

#endif
