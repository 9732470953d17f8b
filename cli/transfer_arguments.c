/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the arguments of upload, status and quarantine. */
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
    out->verb = TRANSFER_QUARANTINE;
    return quarantine_arguments_read(argc, argv, &out->quarantine);
}
