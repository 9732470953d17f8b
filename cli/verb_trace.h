/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl trace`. */
#ifndef GPUFL_CLI_VERB_TRACE_H
#define GPUFL_CLI_VERB_TRACE_H

/** \p argv[0] is the verb. \return the exit code. */
int verb_trace(int argc, char **argv);

#endif
