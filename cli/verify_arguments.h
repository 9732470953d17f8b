/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of `gpufl verify`. */
#ifndef GPUFL_CLI_VERIFY_ARGUMENTS_H
#define GPUFL_CLI_VERIFY_ARGUMENTS_H

#include <stdbool.h>

#include "cli/backend_arguments.h"

struct verify_arguments {
    const char *directory;
    bool resend;
    bool json;
    bool all;
    struct backend_arguments backend;
    struct gpufl_upload_options to; /**< what they are as options, which borrow; and
                                         session_id and state_dir, "" = not given */
};

/** Reads the command line and the environment into \p out, which is not copied then.
 * \return FLAGS_GO_ON, else the exit code. */
int verify_arguments_read(int argc, char **argv, struct verify_arguments *out);

#endif
