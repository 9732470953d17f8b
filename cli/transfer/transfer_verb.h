/* SPDX-License-Identifier: Apache-2.0 */
/* What libgpufl-transfer.so offers to gpufl. */
#ifndef GPUFL_CLI_TRANSFER_TRANSFER_VERB_H
#define GPUFL_CLI_TRANSFER_TRANSFER_VERB_H

#include "cli/transfer_module.h"

/** Its functions: run_verb runs one of its verbs and returns the exit code; upload_logs
 * is gpufl_upload_logs() with messages that name flags; check_upload says whether one
 * could begin. */
extern GPUFL_API const struct transfer_module gpufl_transfer_module;

#endif
