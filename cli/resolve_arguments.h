/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of `gpufl resolve`. */
#ifndef GPUFL_CLI_RESOLVE_ARGUMENTS_H
#define GPUFL_CLI_RESOLVE_ARGUMENTS_H

#include <stdint.h>

struct resolve_arguments {
    const char *directory;
    const char *what;      /**< SESSION or SESSION/CHANNEL */
    const char *state_dir; /**< NULL = the default */
    uint64_t timeout_ms;
};

/** Reads the command line. \return FLAGS_GO_ON, else the exit code. */
int resolve_arguments_read(int argc, char **argv, struct resolve_arguments *out);

#endif
