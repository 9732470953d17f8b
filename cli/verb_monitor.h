/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl monitor`. */
#ifndef GPUFL_CLI_VERB_MONITOR_H
#define GPUFL_CLI_VERB_MONITOR_H

/** \p argv[0] is the verb. \return the exit code. */
int verb_monitor(int argc, char **argv);

#endif
