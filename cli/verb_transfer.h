/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs that send and inspect what was recorded, which the transfer module has. */
#ifndef GPUFL_CLI_VERB_TRANSFER_H
#define GPUFL_CLI_VERB_TRANSFER_H

/** \p argv[0] is the verb. \return the exit code; EXIT_BAD_USE when the module, or a
 * library that it needs, cannot be loaded. */
int verb_transfer(int argc, char **argv);

#endif
