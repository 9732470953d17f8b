/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of the kernel, a value each. */
#ifndef GPUFL_COLLECTOR_SAMPLE_SYSFS_H
#define GPUFL_COLLECTOR_SAMPLE_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Where sysfs is mounted: GPUFL_SYSFS, else /sys. For containers that see the host's
 * under another name, and for tests. */
const char *sysfs_root(void);

/** The first \p size - 1 bytes of \p name below \p dir_fd, without a newline at the end.
 *  \return false, and "", when it cannot be read. */
bool sysfs_text(int dir_fd, const char *name, char *out, size_t size);

/** The whole number, decimal or 0x…, that \p name begins with.
 *  \return false, \p out untouched, when there is none. */
bool sysfs_number(int dir_fd, const char *name, int64_t *out);

/** Opens a directory below \p dir_fd (or AT_FDCWD). \return -1 when it is not there. */
int sysfs_dir(int dir_fd, const char *name);

#endif
