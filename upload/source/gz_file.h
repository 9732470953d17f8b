/* SPDX-License-Identifier: Apache-2.0 */
/* Whole gzip files: checks one, compares two, writes one. Memory does not grow with their
 * size. */
#ifndef GPUFL_UPLOAD_SOURCE_GZ_FILE_H
#define GPUFL_UPLOAD_SOURCE_GZ_FILE_H

#include <stdbool.h>

#include <gpufl/status.h>

#include "base/sys.h"

/** Decodes the file behind \p fd to its end (RFC 1952, one member or several).
 *  \return GPUFL_OK; GPUFL_ERR_FORMAT when it is empty, cut or damaged; GPUFL_ERR_IO,
 *  GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status gz_file_check(const struct sys *sys, int fd);

/** \p same tells whether two sound files hold the same bytes when decoded.
 *  \return GPUFL_OK, GPUFL_ERR_FORMAT or GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status gz_file_compare(int left_fd, int right_fd, bool *same);

/** Writes all of \p from_fd into \p to_fd as one member, and syncs it.
 *  \return GPUFL_OK, GPUFL_ERR_IO or GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status gz_file_write(const struct sys *sys, int from_fd, int to_fd);

#endif
