/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the ends of a time axis, and reads the columns of the tables that lie on it. */
#include "backend/api/series.h"

#include "backend/store/store_query.h"
#include "base/array.h"

gpufl_status series_axis(struct store *store, int64_t session,
                         const struct series_span *span, struct series_axis *out)
{
    struct store_series series;
    gpufl_status status = store_series(store, session, &series);
    out->from_ns = span->from_ns ? span->from_ns : series.first_ns;
    out->to_ns = span->to_ns ? span->to_ns : series.last_ns;
    if (out->to_ns < out->from_ns) {
        out->to_ns = out->from_ns;
    }
    uint64_t length_ns = (uint64_t)out->to_ns - (uint64_t)out->from_ns;
    uint64_t slice_ns = length_ns / span->points + 1;
    out->slice_ns = slice_ns < INT64_MAX ? (int64_t)slice_ns : INT64_MAX;
    return status;
}

bool series_read(struct series_columns *c, const struct digest_table *table,
                 const unsigned *index, unsigned count)
{
    size_t last = table->rows * count;
    int64_t *value = array_reach(c->value, last, &c->cap, sizeof *value);
    if (!value) {
        return false;
    }
    c->value = value;
    for (unsigned i = 0; i < count; i++) {
        if (!pack_read_column(&table->packed, table->rows, index[i],
                              value + i * table->rows)) {
            return false;
        }
    }
    return true;
}
