/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and replaces small files as a whole; completes short reads and writes. */
#ifndef GPUFL_BASE_FILE_H
#define GPUFL_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include <gpufl/status.h>

#include "base/sys.h"

/** Opens \p path beneath \p dir for reading, never blocking, and only if it is a regular
 * file with one name: a second hard link may belong to a file elsewhere.
 *  \return the descriptor, or -1 with errno (ELOOP for anything but such a file). */
int file_open(const struct sys *sys, int dir, const char *path);

/** Reads a file of at most \p cap bytes. *out is malloc'd, NUL-terminated, the
 * caller's. \return GPUFL_OK; GPUFL_ERR_NOT_FOUND; GPUFL_ERR_FORMAT when larger than
 * \p cap; GPUFL_ERR_IO; GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status file_read(const struct sys *sys, int dir, const char *path,
                                  size_t cap, char **out, size_t *len);

/** Replaces `<dir>/<name>` by \p data: temporary file, rename; synced when \p durable.
 * The old file stays whole if anything fails. */
GPUFL_MUST gpufl_status file_replace(const struct sys *sys, int dir, const char *name,
                                     const void *data, size_t len, bool durable);

/** pwrite until all is written. \return 0 or -1 with errno. */
int file_pwrite_all(const struct sys *sys, int fd, const void *data, size_t len,
                    off_t at);

/** pread until \p len bytes or the end. \return bytes read, or -1 with errno. */
ssize_t file_pread_full(const struct sys *sys, int fd, void *data, size_t len, off_t at);

#endif
