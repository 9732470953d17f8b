/* SPDX-License-Identifier: Apache-2.0 */
/* Counts rendered rows and takes shares of their total. */
#include "backend/api/api_rows.h"

const char *api_rows_comma(struct api_rows *rows)
{
    return rows->count++ ? "," : "";
}

double api_rows_share(const struct api_rows *rows, int64_t value)
{
    return rows->total > 0 ? (double)value / rows->total : 0.0;
}
