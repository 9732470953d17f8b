/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl quarantine`. */
#ifndef GPUFL_CLI_TRANSFER_VERB_QUARANTINE_H
#define GPUFL_CLI_TRANSFER_VERB_QUARANTINE_H

/** \p argv[0] is the verb. \return the exit code. */
int verb_quarantine(int argc, char **argv);

#endif
