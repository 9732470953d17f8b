/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of `gpufl status`. */
#ifndef GPUFL_CLI_STATUS_ARGUMENTS_H
#define GPUFL_CLI_STATUS_ARGUMENTS_H

#include <stdbool.h>

struct status_arguments {
    bool json;
    bool all;              /**< also each session of other users */
    const char *state_dir; /**< NULL = the default */
    const char *directory;
};

/** Reads the command line. \return FLAGS_GO_ON, else the exit code. */
int status_arguments_read(int argc, char **argv, struct status_arguments *out);

#endif
