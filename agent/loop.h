/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the agent once its options are known. */
#ifndef GPUFL_AGENT_LOOP_H
#define GPUFL_AGENT_LOOP_H

#include <signal.h>
#include <stdbool.h>

#include "agent/options/options.h"

/** Runs until a signal, or with --exit-when-drained until all is sent. \p signals must be
 * blocked; on SIGHUP \p argv is read again into \p options. \p have_inotify: watch_init
 * succeeded. \return the exit code. */
int loop_run(struct options *options, int argc, char **argv, const sigset_t *signals,
             bool have_inotify);

#endif
