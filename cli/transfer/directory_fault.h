/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs say of a directory of sessions that cannot be read. */
#ifndef GPUFL_CLI_TRANSFER_DIRECTORY_FAULT_H
#define GPUFL_CLI_TRANSFER_DIRECTORY_FAULT_H

#include <stdbool.h>

/** Says that \p program cannot read DIR \p path, by \p error of errno, and what to do.
 *  \return EXIT_BAD_USE. */
int directory_fault(const char *program, const char *path, int error);

/** To be asked where no session was found: says it if some lie too deep below DIR \p path
 * to be found, and the journal with \p state_dir (NULL or "" = default) knows of none,
 * which were moved there once they were sent. \return whether it was said. */
bool directory_is_above(const char *program, const char *path, const char *state_dir);

#endif
