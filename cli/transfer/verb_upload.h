/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl upload`. */
#ifndef GPUFL_CLI_TRANSFER_VERB_UPLOAD_H
#define GPUFL_CLI_TRANSFER_VERB_UPLOAD_H

#include "cli/upload_arguments.h"

/** Does what \p a says. \return the exit code. */
int verb_upload(const struct upload_arguments *a);

#endif
