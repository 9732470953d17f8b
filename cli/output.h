/* SPDX-License-Identifier: Apache-2.0 */
/* Where a verb that records writes by default. */
#ifndef GPUFL_CLI_OUTPUT_H
#define GPUFL_CLI_OUTPUT_H

#include <limits.h>
#include <stdbool.h>

/** ~/.gpufl/<kind>/<local time>_<8 hex>, as the existing launcher has it. False without a
 * home directory. */
bool default_output(const char *kind, char out[PATH_MAX]);

#endif
