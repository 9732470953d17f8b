/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl resolve`. */
#ifndef GPUFL_CLI_TRANSFER_VERB_RESOLVE_H
#define GPUFL_CLI_TRANSFER_VERB_RESOLVE_H

#include "cli/resolve_arguments.h"

/** Does what \p a says. \return the exit code. */
int verb_resolve(const struct resolve_arguments *a);

#endif
