/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl verify`. */
#ifndef GPUFL_CLI_TRANSFER_VERB_VERIFY_H
#define GPUFL_CLI_TRANSFER_VERB_VERIFY_H

#include "cli/verify_arguments.h"

/** \return the exit code. */
int verb_verify(const struct verify_arguments *arguments);

#endif
