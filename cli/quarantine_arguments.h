/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of `gpufl quarantine`. */
#ifndef GPUFL_CLI_QUARANTINE_ARGUMENTS_H
#define GPUFL_CLI_QUARANTINE_ARGUMENTS_H

#include <stdbool.h>

#include "cli/backend_arguments.h"

enum quarantine_action {
    QUARANTINE_LIST,
    QUARANTINE_SHOW,
    QUARANTINE_RETRY,
    QUARANTINE_DROP
};

struct quarantine_arguments {
    enum quarantine_action action;
    const char *directory;
    const char *state_dir; /**< NULL = the default */
    char **names;
    int count;
    bool all;
    bool json;
    struct backend_arguments backend; /**< of retry */
    struct gpufl_upload_options to;   /**< what they are as options, which borrow */
};

/** Reads the command line and the environment into \p out, which is not copied then.
 * \return FLAGS_GO_ON, else the exit code.
 */
int quarantine_arguments_read(int argc, char **argv, struct quarantine_arguments *out);

#endif
