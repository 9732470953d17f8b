/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the arguments of the verbs that the transfer module runs. */
#include "cli/transfer_arguments.h"

#include <string.h>

int transfer_arguments_read(int argc, char **argv, struct transfer_arguments *out)
{
    if (strcmp(argv[0], "upload") == 0) {
        out->verb = TRANSFER_UPLOAD;
        return upload_arguments_read(argc, argv, &out->upload);
    }
    if (strcmp(argv[0], "status") == 0) {
        out->verb = TRANSFER_STATUS;
        return status_arguments_read(argc, argv, &out->status);
    }
    if (strcmp(argv[0], "resolve") == 0) {
        out->verb = TRANSFER_RESOLVE;
        return resolve_arguments_read(argc, argv, &out->resolve);
    }
    if (strcmp(argv[0], "verify") == 0) {
        out->verb = TRANSFER_VERIFY;
        return verify_arguments_read(argc, argv, &out->verify);
    }
    out->verb = TRANSFER_QUARANTINE;
    return quarantine_arguments_read(argc, argv, &out->quarantine);
}
