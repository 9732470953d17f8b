/* SPDX-License-Identifier: Apache-2.0 */
/* The directories below which source files may be read: a module's line table can name
 * any file. */
#ifndef GPUFL_COLLECTOR_CORE_SOURCE_ROOTS_H
#define GPUFL_COLLECTOR_CORE_SOURCE_ROOTS_H

#include <limits.h>
#include <stdbool.h>

#include <gpufl/status.h>

#include "collector-lib/core/own_fd.h"

struct source_roots {
    char paths[PATH_MAX]; /**< real paths, each with its NUL; an empty one ends them */
};

/** Room for what is wrong with a list. */
#define SOURCE_ROOTS_FAULT_BYTES 230

/** Resolves \p list, absolute directories separated by ':'. "." is the working directory,
 * and none if that is gone or "/"; empty parts are skipped. \return GPUFL_OK, or
 * GPUFL_ERR_USAGE and in \p why which root, why, and what is expected. */
gpufl_status source_roots_resolve(const char *list, struct source_roots *out,
                                  char why[SOURCE_ROOTS_FAULT_BYTES]);

enum source_file { SOURCE_FILE_OPENED, SOURCE_FILE_OUTSIDE, SOURCE_FILE_NONE };

/** Opens the regular file \p path for reading if it lies below a root once all links are
 * followed. Nothing else is opened, not even for a moment: opening a device or a pipe can
 * have effects. */
enum source_file source_roots_open(const struct source_roots *roots, const char *path,
                                   struct own_fd *out);

#endif
