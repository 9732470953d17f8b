/* SPDX-License-Identifier: Apache-2.0 */
/* What libgpufl-transfer.so offers to gpufl. */
#ifndef GPUFL_CLI_TRANSFER_TRANSFER_VERB_H
#define GPUFL_CLI_TRANSFER_TRANSFER_VERB_H

#include <gpufl/upload.h>

#include "cli/transfer_arguments.h"

/** Runs upload, status or quarantine. \return the exit code. */
GPUFL_API int gpufl_transfer_verb(const struct transfer_arguments *arguments);

/** As gpufl_upload_logs(), with messages that name flags. */
GPUFL_API gpufl_status gpufl_transfer_upload(const struct gpufl_upload_options *options,
                                             struct gpufl_upload_result *result);

/** Whether an upload with these options could begin; the message names flags. */
GPUFL_API gpufl_status gpufl_transfer_check(const struct gpufl_upload_options *options,
                                            struct gpufl_upload_result *result);

#endif
