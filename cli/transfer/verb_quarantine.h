/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl quarantine`. */
#ifndef GPUFL_CLI_TRANSFER_VERB_QUARANTINE_H
#define GPUFL_CLI_TRANSFER_VERB_QUARANTINE_H

#include "cli/quarantine_arguments.h"

/** Does what \p a says. \return the exit code. */
int verb_quarantine(const struct quarantine_arguments *a);

#endif
