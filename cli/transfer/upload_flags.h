/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line calls the options of an upload. */
#ifndef GPUFL_CLI_UPLOAD_FLAGS_H
#define GPUFL_CLI_UPLOAD_FLAGS_H

/** For `option_name` of gpufl_upload_options: the flag that sets \p field. */
const char *upload_flag_of(const char *field);

#endif
