/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl info`. */
#ifndef GPUFL_CLI_VERB_INFO_H
#define GPUFL_CLI_VERB_INFO_H

/** \p argv[0] is the verb. \return the exit code. */
int verb_info(int argc, char **argv);

#endif
