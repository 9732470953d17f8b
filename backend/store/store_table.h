/* SPDX-License-Identifier: Apache-2.0 */
/* Packed tables as they lie in the database: compressed where that halves them. A body of
 * some 100 KiB may decode to 128 MiB of lines, and their tables are as large as those. */
#ifndef GPUFL_BACKEND_STORE_STORE_TABLE_H
#define GPUFL_BACKEND_STORE_STORE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include <gpufl/status.h>

#include "base/text.h"

/** *out is what to store, of \p packed (digest/pack.h); it stays \p packed's where *made
 * is NULL, else it is that, malloc'd, the caller's. \return false without memory. */
bool store_table_encode(const struct text *packed, char **made, struct text *out);

/** The reverse, of a table of \p rows rows; likewise. \return GPUFL_OK;
 * GPUFL_ERR_NOMEM; GPUFL_ERR_IO of a blob that is damaged. */
GPUFL_MUST gpufl_status store_table_decode(const struct text *blob, size_t rows,
                                           char **made, struct text *out);

#endif
