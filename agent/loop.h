/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's life after its options are known. */
#ifndef GPUFL_AGENT_LOOP_H
#define GPUFL_AGENT_LOOP_H

#include <signal.h>
#include <stdbool.h>

#include "agent/options/options.h"

/** Runs until a signal, or until drained where that is asked for. \p signals, of which
 * SIGHUP reads \p argv again into \p options, must be blocked. \p have_inotify:
 * watch_init succeeded. \return the exit code. */
int loop_run(struct options *options, int argc, char **argv, const sigset_t *signals,
             bool have_inotify);

#endif
