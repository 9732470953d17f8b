/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl version`. */
#ifndef GPUFL_CLI_VERB_VERSION_H
#define GPUFL_CLI_VERB_VERSION_H

/** \p argv[0] is the verb. \return the exit code. */
int verb_version(int argc, char **argv);

#endif
