/* SPDX-License-Identifier: Apache-2.0 */
/* The entry of libgpufl-transfer.so: finds the verb. */
#include "cli/transfer/transfer_verb.h"

#include "cli/transfer/upload_flags.h"
#include "cli/transfer/verb_quarantine.h"
#include "cli/transfer/verb_resolve.h"
#include "cli/transfer/verb_status.h"
#include "cli/transfer/verb_upload.h"
#include "cli/transfer/verb_verify.h"
#include "upload/upload_logs.h"

static int transfer_verb_run(const struct transfer_arguments *arguments)
{
    switch (arguments->verb) {
    case TRANSFER_UPLOAD:
        return verb_upload(&arguments->upload);
    case TRANSFER_STATUS:
        return verb_status(&arguments->status);
    case TRANSFER_RESOLVE:
        return verb_resolve(&arguments->resolve);
    case TRANSFER_VERIFY:
        return verb_verify(&arguments->verify);
    case TRANSFER_QUARANTINE:
        break;
    }
    return verb_quarantine(&arguments->quarantine);
}

static gpufl_status transfer_verb_upload(const struct gpufl_upload_options *options,
                                         struct gpufl_upload_result *result)
{
    return upload_logs_named(options, upload_names_of(options), result);
}

static gpufl_status transfer_verb_check(const struct gpufl_upload_options *options,
                                        struct gpufl_upload_result *result)
{
    return upload_logs_check(options, upload_names_of(options), result);
}

const struct transfer_module gpufl_transfer_module = {
    .version = TRANSFER_MODULE_VERSION,
    .run_verb = transfer_verb_run,
    .upload_logs = transfer_verb_upload,
    .check_upload = transfer_verb_check,
};
