/* SPDX-License-Identifier: Apache-2.0 */
/* Reads single option values. */
#ifndef GPUFL_AGENT_OPTION_VALUE_H
#define GPUFL_AGENT_OPTION_VALUE_H

#include <stdbool.h>
#include <stdint.h>

/** The position of \p text in `a|b|c`. */
bool option_parse_choice(const char *text, const char *choices, int *out);

#endif
