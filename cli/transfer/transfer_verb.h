/* SPDX-License-Identifier: Apache-2.0 */
/* What libgpufl-transfer.so offers to gpufl, besides gpufl_upload_logs(). */
#ifndef GPUFL_CLI_TRANSFER_TRANSFER_VERB_H
#define GPUFL_CLI_TRANSFER_TRANSFER_VERB_H

#include <gpufl/status.h>

/** Runs the verb \p argv[0]: upload, status or quarantine. \return the exit code. */
GPUFL_API int gpufl_transfer_verb(int argc, char **argv);

#endif
