/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of the kernel with one value each. */
#ifndef GPUFL_COLLECTOR_SAMPLE_SYSFS_H
#define GPUFL_COLLECTOR_SAMPLE_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector-lib/core/own_fd.h"

/** Where sysfs is mounted: what GPUFL_SYSFS is \p set to, else (NULL, "") /sys. For
 * containers in which the host's sysfs has another path, and for tests. */
const char *sysfs_root(const char *set);

/** Reads the first \p size - 1 bytes of \p name below \p dir_fd, without the last
 * newline. \return false, and "", if it cannot be read. */
bool sysfs_text(int dir_fd, const char *name, char *out, size_t size);

/** Reads the integer, decimal or 0x…, at the start of \p name. \return false, and \p
 * out is unchanged, if there is none. */
bool sysfs_number(int dir_fd, const char *name, int64_t *out);

/** A file that is read again and again. It stays open: while one is being opened, a job
 * that closes what it did not open, and opens its own, would have that closed by us. */
struct sysfs_file {
    char *path; /* NULL = none; owned */
    struct own_fd own;
};

#define SYSFS_FILE_NONE                                                                  \
    {                                                                                    \
        .path = NULL, .own = OWN_FD_NONE                                                 \
    }

/** Of \p name in \p dir, which is an absolute path. Without memory, there is none. */
void sysfs_file_init(struct sysfs_file *file, const char *dir, const char *name);
void sysfs_file_fini(struct sysfs_file *file);

/** Reads it from its beginning as sysfs_text() does, and opens it, if the job has closed
 * it, too. */
bool sysfs_file_text(struct sysfs_file *file, char *out, size_t size);

/** As sysfs_number(). */
bool sysfs_file_number(struct sysfs_file *file, int64_t *out);

/** Opens a directory below \p dir_fd (or AT_FDCWD). \return -1 on failure. */
int sysfs_dir(int dir_fd, const char *name);

#endif
