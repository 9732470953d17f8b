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

#endif
