/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of `gpufl upload`. */
#ifndef GPUFL_CLI_UPLOAD_ARGUMENTS_H
#define GPUFL_CLI_UPLOAD_ARGUMENTS_H

#include <gpufl/upload.h>

#include "cli/backend_arguments.h"

/** What to upload, and how to tell of it. Options point into it: it is not copied. */
struct upload_arguments {
    struct gpufl_upload_options options;
    struct backend_arguments backend;
    uint64_t timeout_ms;
    bool latest;
    bool all;
    bool quiet;
    bool json;
};

/** Reads the command line and the environment. \return FLAGS_GO_ON, else the exit code.
 */
int upload_arguments_read(int argc, char **argv, struct upload_arguments *out);

#endif
