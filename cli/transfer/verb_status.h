/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl status`. */
#ifndef GPUFL_CLI_TRANSFER_VERB_STATUS_H
#define GPUFL_CLI_TRANSFER_VERB_STATUS_H

#include "cli/status_arguments.h"

/** Does what \p a says. \return the exit code. */
int verb_status(const struct status_arguments *a);

#endif
