/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl upload`. */
#ifndef GPUFL_CLI_TRANSFER_VERB_UPLOAD_H
#define GPUFL_CLI_TRANSFER_VERB_UPLOAD_H

/** \p argv[0] is the verb. \return the exit code. */
int verb_upload(int argc, char **argv);

#endif
