/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line calls the options of an upload. */
#ifndef GPUFL_CLI_TRANSFER_UPLOAD_FLAGS_H
#define GPUFL_CLI_TRANSFER_UPLOAD_FLAGS_H

/** The flag that sets \p field of gpufl_upload_options. */
const char *upload_flag_of(const char *field);

#endif
