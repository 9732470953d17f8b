/* SPDX-License-Identifier: Apache-2.0 */
/* A command that runs in the place of this program: signals and exit code are its own. */
#ifndef GPUFL_CLI_CHILD_H
#define GPUFL_CLI_CHILD_H

#include <stdbool.h>

/** Runs \p argv, passes on the signals that are sent to this process, and waits. Errors
 * are told as \p program's. \return its exit code as a shell has it: 128 + n for signal
 * n, 126 when it cannot be run, 127 when it is not found. Those signals stay blocked: one
 * that comes late does not end this process before it has reported. *began tells whether
 * it could be run at all. */
int child_run(const char *program, char **argv, bool *began);

#endif
