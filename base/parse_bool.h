/* SPDX-License-Identifier: Apache-2.0 */
/* Reads switches in the environment: one rule for all parts. */
#ifndef GPUFL_BASE_PARSE_BOOL_H
#define GPUFL_BASE_PARSE_BOOL_H

#include <stdbool.h>

/** True for `1`, `true`, `yes`, `on` in any case, blanks around them ignored; false for
 *  everything else and for NULL. */
bool parse_bool(const char *value);

#endif
