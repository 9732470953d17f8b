/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files that the user named: settings, keys and certificates. */
#ifndef GPUFL_BASE_NAMED_FILE_H
#define GPUFL_BASE_NAMED_FILE_H

/** Opens \p path for reading; links are followed. It never waits, and anything but a
 * regular file is refused. \return the descriptor, or -1 with the reason in \p fault, and
 * errno (EINVAL for what is no regular file). */
int named_file_open(const char *path, const char **fault);

#endif
