/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of the verbs that the transfer module runs. They are read here, so that
 * --help and messages on the command line need the C library alone. */
#ifndef GPUFL_CLI_TRANSFER_ARGUMENTS_H
#define GPUFL_CLI_TRANSFER_ARGUMENTS_H

#include "cli/quarantine_arguments.h"
#include "cli/resolve_arguments.h"
#include "cli/status_arguments.h"
#include "cli/upload_arguments.h"
#include "cli/verify_arguments.h"

struct transfer_arguments {
    enum {
        TRANSFER_UPLOAD,
        TRANSFER_STATUS,
        TRANSFER_QUARANTINE,
        TRANSFER_RESOLVE,
        TRANSFER_VERIFY
    } verb;
    union {
        struct upload_arguments upload;
        struct status_arguments status;
        struct quarantine_arguments quarantine;
        struct resolve_arguments resolve;
        struct verify_arguments verify;
    };
};

/** Reads the command line of the verb \p argv[0]: upload, status, quarantine, resolve or
 * verify. \return FLAGS_GO_ON, else the exit code. */
int transfer_arguments_read(int argc, char **argv, struct transfer_arguments *out);

#endif
