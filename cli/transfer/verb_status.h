/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl status`. */
#ifndef GPUFL_CLI_TRANSFER_VERB_STATUS_H
#define GPUFL_CLI_TRANSFER_VERB_STATUS_H

/** \p argv[0] is the verb. \return the exit code. */
int verb_status(int argc, char **argv);

#endif
