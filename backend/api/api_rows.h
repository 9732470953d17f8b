/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table while they are rendered as JSON. */
#ifndef GPUFL_BACKEND_API_API_ROWS_H
#define GPUFL_BACKEND_API_API_ROWS_H

#include <stdint.h>

#include "base/text.h"

struct api_rows {
    struct text *answer;
    unsigned count; /**< rendered so far */
    double total;   /**< of all rows, for their shares */
};

/** What stands before the next row. */
const char *api_rows_comma(struct api_rows *rows);

/** The share of \p value in the total, 0 to 1. */
double api_rows_share(const struct api_rows *rows, int64_t value);

#endif
