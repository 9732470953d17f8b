/* SPDX-License-Identifier: Apache-2.0 */
/* A table of integers, column by column, in few bytes: each column is its minimum (8
 * bytes), a width (1 byte: 0, 1, 2, 4 or 8), and for each row how far it is above that,
 * all little-endian. */
#ifndef GPUFL_BACKEND_DIGEST_PACK_H
#define GPUFL_BACKEND_DIGEST_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/** Adds a column of \p rows values. \return false without memory. */
bool pack_column(struct text *to, const int64_t *value, size_t rows);

/** Reads column \p index of \p rows values. \return false when it is not there whole. */
bool pack_read_column(const struct text *from, size_t rows, unsigned index, int64_t *out);

#endif
