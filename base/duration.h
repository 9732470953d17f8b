/* SPDX-License-Identifier: Apache-2.0 */
/* Durations and counts as people write them in flags and variables. */
#ifndef GPUFL_BASE_DURATION_H
#define GPUFL_BASE_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/** Parses a decimal number up to 2^32-1; *end points behind it. */
bool duration_parse_count(const char *text, uint64_t *out, const char **end);

/** Parses `250ms`, `30s`, `5m`, `1h`; a bare number means seconds. */
bool duration_parse(const char *text, uint64_t *out_ms);

/** The longest duration that can be parsed. */
#define DURATION_MAX_MS (UINT32_MAX * UINT64_C(3600000))

#define DURATION_TEXT 24

/** Writes \p ms as duration_parse() reads it, in the largest unit that divides it. */
void duration_text(uint64_t ms, char out[DURATION_TEXT]);

#endif
