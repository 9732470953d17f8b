/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of the kernel with one value each. */
#ifndef GPUFL_COLLECTOR_SAMPLE_SYSFS_H
#define GPUFL_COLLECTOR_SAMPLE_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Where sysfs is mounted: what GPUFL_SYSFS is \p set to, else (NULL, "") /sys. For
 * containers in which the host's sysfs has another path, and for tests. */
const char *sysfs_root(const char *set);

/** Reads the first \p size - 1 bytes of \p name below \p dir_fd, without the last
 * newline. \return false, and "", if it cannot be read. */
bool sysfs_text(int dir_fd, const char *name, char *out, size_t size);

/** Reads the integer, decimal or 0x…, at the start of \p name. \return false, and \p
 * out is unchanged, if there is none. */
bool sysfs_number(int dir_fd, const char *name, int64_t *out);

/** Opens a directory below \p dir_fd (or AT_FDCWD). \return -1 on failure. */
int sysfs_dir(int dir_fd, const char *name);

#endif
