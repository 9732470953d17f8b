/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl resolve`. */
#ifndef GPUFL_CLI_TRANSFER_VERB_RESOLVE_H
#define GPUFL_CLI_TRANSFER_VERB_RESOLVE_H

/** \p argv[0] is the verb. \return the exit code. */
int verb_resolve(int argc, char **argv);

#endif
