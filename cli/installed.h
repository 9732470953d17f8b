/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the libraries that are installed with this program. */
#ifndef GPUFL_CLI_INSTALLED_H
#define GPUFL_CLI_INSTALLED_H

#include <limits.h>
#include <stdbool.h>

/** Where installed_find() looks, for messages. */
#define INSTALLED_PLACES "beside gpufl or in ../lib/gpufl"

/** Looks for \p file beside the running program, as it is built, then where make install
 * and the packages put it. \p out is its real path. */
bool installed_find(const char *file, char out[PATH_MAX]);

#endif
