/* SPDX-License-Identifier: Apache-2.0 */
/* Reads single option values. */
#ifndef GPUFL_AGENT_OPTION_VALUE_H
#define GPUFL_AGENT_OPTION_VALUE_H

#include <stdbool.h>
#include <stdint.h>

/** A decimal number up to 2^32-1; *end is behind it. */
bool option_parse_count(const char *text, uint64_t *out, const char **end);

/** `250ms`, `30s`, `5m`, `1h`; a bare number is seconds. */
bool option_parse_duration(const char *text, uint64_t *out_ms);

/** The position of \p text in `a|b|c`. */
bool option_parse_choice(const char *text, const char *choices, int *out);

#endif
