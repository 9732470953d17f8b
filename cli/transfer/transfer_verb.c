/* SPDX-License-Identifier: Apache-2.0 */
/* The entry of libgpufl-transfer.so: finds the verb. */
#include "cli/transfer/transfer_verb.h"

#include "base/flags.h"
#include "cli/exit_codes.h"
#include "cli/transfer/upload_flags.h"
#include "cli/transfer/verb_quarantine.h"
#include "cli/transfer/verb_resolve.h"
#include "cli/transfer/verb_status.h"
#include "cli/transfer/verb_upload.h"
#include "upload/upload_logs.h"

static const struct flag_verb transfer_verbs[] = {
    {"upload", verb_upload, NULL},
    {"status", verb_status, NULL},
    {"quarantine", verb_quarantine, NULL},
    {"resolve", verb_resolve, NULL},
};

static const struct flag_table transfer_table = {
    .program = "gpufl",
    .verb = transfer_verbs,
    .verbs = sizeof transfer_verbs / sizeof transfer_verbs[0],
};

int gpufl_transfer_verb(int argc, char **argv)
{
    const struct flag_verb *verb = flags_verb(&transfer_table, argv[0]);
    return verb ? verb->run(argc, argv) : EXIT_BAD_USE;
}

gpufl_status gpufl_transfer_upload(const struct gpufl_upload_options *options,
                                   struct gpufl_upload_result *result)
{
    return upload_logs_named(options, upload_names_of(options->backend_url), result);
}
