/* SPDX-License-Identifier: Apache-2.0 */
/* Where a verb that records writes to by default. */
#ifndef GPUFL_CLI_OUTPUT_H
#define GPUFL_CLI_OUTPUT_H

#include <limits.h>
#include <stdbool.h>

/** ~/.gpufl/<verb>/<local time>_<8 hex>, which the existing launcher uses, too. \return
 * false without a home directory. */
bool output_default(const char *verb, char out[PATH_MAX]);

/** The number of sessions in \p directory. */
unsigned output_sessions(const char *directory);

/** Whether \p directory can be written to, or made. \return false with errno. */
bool output_is_writable(const char *directory);

#endif
