/* SPDX-License-Identifier: Apache-2.0 */
/* The entry of libgpufl-transfer.so: finds the verb. */
#include "cli/transfer/transfer_verb.h"

#include "cli/transfer/upload_flags.h"
#include "cli/transfer/verb_quarantine.h"
#include "cli/transfer/verb_status.h"
#include "cli/transfer/verb_upload.h"
#include "upload/upload_logs.h"

int gpufl_transfer_verb(const struct transfer_arguments *arguments)
{
    switch (arguments->verb) {
    case TRANSFER_UPLOAD:
        return verb_upload(&arguments->upload);
    case TRANSFER_STATUS:
        return verb_status(&arguments->status);
    case TRANSFER_QUARANTINE:
        break;
    }
    return verb_quarantine(&arguments->quarantine);
}

gpufl_status gpufl_transfer_upload(const struct gpufl_upload_options *options,
                                   struct gpufl_upload_result *result)
{
    return upload_logs_named(options, upload_names_of(options->backend_url), result);
}

gpufl_status gpufl_transfer_check(const struct gpufl_upload_options *options,
                                  struct gpufl_upload_result *result)
{
    return upload_logs_check(options, upload_names_of(options->backend_url), result);
}
