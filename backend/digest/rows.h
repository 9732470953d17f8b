/* SPDX-License-Identifier: Apache-2.0 */
/* A columnar batch as numbers: schema/README.md, "Records". */
#ifndef GPUFL_BACKEND_DIGEST_ROWS_H
#define GPUFL_BACKEND_DIGEST_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/digest/wrap.h"
#include "schema/column_names.h"

#define ROWS_COLUMNS_MAX 40u
#define ROWS_NAME_BYTES  32u
/** Of one batch; a larger one is not read. Writers stop at 2,048 rows. */
#define ROWS_CELLS_MAX (4u << 20)
/** A cell that is missing or no number. */
#define ROWS_NOTHING INT64_MIN
/** The column that every batch begins with: the time since base_ns. */
#define ROWS_TIME COLUMN(SCOPE, dt_ns)

/** Zero-initialise; one may read many batches. */
struct rows {
    const char *const *wanted; /**< names of columns, up to a NULL; NULL = all of them */
    uint64_t reads; /**< bit i: column i is wanted, else its cells say nothing */
    int64_t base_ns;
    unsigned columns;
    char name[ROWS_COLUMNS_MAX][ROWS_NAME_BYTES];
    size_t count;
    int64_t *cell; /**< count × columns, row by row */
    size_t cap;
    size_t cells_max; /**< of this line */
};

/** Reads one line. Cells behind the last column are left out; fractions are cut, unsigned
 * numbers over INT64_MAX keep their bits. \return false when it is no such batch, has
 * more than 40 columns or more cells than bytes, or without memory. */
bool rows_read(struct rows *rows, const char *line, size_t len);

/** \return the index of the column, which must be wanted; -1 without one, and for "". */
int rows_column(const struct rows *rows, const char *name);

/** The cell; ROWS_NOTHING without such a column. */
static inline int64_t rows_cell(const struct rows *rows, size_t row, int column)
{
    return column < 0 ? ROWS_NOTHING : rows->cell[row * rows->columns + (size_t)column];
}

/** The cell; \p other where there is none or it is no number. */
static inline int64_t rows_cell_or(const struct rows *rows, size_t row, int column,
                                   int64_t other)
{
    int64_t value = rows_cell(rows, row, column);
    return value == ROWS_NOTHING ? other : value;
}

/** The time of a row, whose distance from base_ns is in \p column. */
static inline int64_t rows_time_ns(const struct rows *rows, size_t row, int column)
{
    return wrap_add(rows->base_ns, rows_cell_or(rows, row, column, 0));
}

void rows_fini(struct rows *rows);

#endif
