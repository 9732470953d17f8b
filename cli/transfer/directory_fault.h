/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs say of a directory of sessions that cannot be read. */
#ifndef GPUFL_CLI_TRANSFER_DIRECTORY_FAULT_H
#define GPUFL_CLI_TRANSFER_DIRECTORY_FAULT_H

/** Says that \p program cannot read DIR \p path, by \p error of errno, and what to do.
 *  \return EXIT_BAD_USE. */
int directory_fault(const char *program, const char *path, int error);

#endif
