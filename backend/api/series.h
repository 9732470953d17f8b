/* SPDX-License-Identifier: Apache-2.0 */
/* The time axis of what is shown of a session. */
#ifndef GPUFL_BACKEND_API_SERIES_H
#define GPUFL_BACKEND_API_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/digest/digest.h"
#include "backend/store/store.h"

/** Which part of the time axis, in how many slices. */
struct series_span {
    int64_t from_ns; /**< 0 = the first time of the session's tables */
    int64_t to_ns;   /**< 0 = the last */
    unsigned points; /**< 1 or more */
};

/** The same with its ends known. */
struct series_axis {
    int64_t from_ns;
    int64_t to_ns;
    int64_t slice_ns; /**< 1 or more */
};

/** Fills in what \p span leaves to the session. */
GPUFL_MUST gpufl_status series_axis(struct store *store, int64_t session,
                                    const struct series_span *span,
                                    struct series_axis *out);

/** Columns of the table that is being read. Zero-initialise; `value` is malloc'd. */
struct series_columns {
    int64_t *value; /**< one column behind the other, each table->rows long */
    size_t cap;
};

/** Reads the \p count columns \p index of \p table. \return false when one is not there
 * whole, or without memory. */
bool series_read(struct series_columns *columns, const struct digest_table *table,
                 const unsigned *index, unsigned count);

#endif
