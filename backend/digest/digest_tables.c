/* SPDX-License-Identifier: Apache-2.0 */
/* Packs the rows of metrics and scopes into tables. */
#include "backend/digest/digest_tables.h"

#include <stdlib.h>

#include "backend/digest/metric_columns.h"
#include "schema/column_names.h"

#define DEVICES_MAX 64u

static bool pack_times(struct digest *d, struct digest_table *table, const int64_t *ts_ns,
                       size_t rows)
{
    table->rows = rows;
    table->first_ns = table->last_ns = ts_ns[0];
    for (size_t i = 1; i < rows; i++) {
        table->first_ns = ts_ns[i] < table->first_ns ? ts_ns[i] : table->first_ns;
        table->last_ns = ts_ns[i] > table->last_ns ? ts_ns[i] : table->last_ns;
    }
    d->first_ns =
        !d->first_ns || table->first_ns < d->first_ns ? table->first_ns : d->first_ns;
    d->last_ns = table->last_ns > d->last_ns ? table->last_ns : d->last_ns;
    return pack_column(&table->packed, ts_ns, rows);
}

/* The rows of one device, gathered column by column. */
static bool pack_metrics(struct digest *d, enum digest_table_kind kind, int64_t device,
                         const size_t *row, size_t count, int64_t *scratch)
{
    const struct rows *rows = &d->rows;
    int dt = rows_column(rows, ROWS_TIME);
    struct digest_table *table = digest_add_table(d, kind, device);
    for (size_t i = 0; table && i < count; i++) {
        scratch[i] = rows_time_ns(rows, row[i], dt);
        digest_note_time(d, scratch[i]);
    }
    if (!table || !pack_times(d, table, scratch, count)) {
        return false;
    }
    for (unsigned m = 0; m < metrics_count; m++) {
        int column = metrics[m].host == (kind == TABLE_HOST)
                         ? rows_column(rows, metrics[m].name)
                         : -1;
        for (size_t i = 0; column >= 0 && i < count; i++) {
            scratch[i] = rows_cell(rows, row[i], column);
        }
        if (column >= 0) {
            table->metrics |= UINT64_C(1) << m;
            d->metrics |= table->metrics;
            if (!pack_column(&table->packed, scratch, count)) {
                return false;
            }
        }
    }
    text_fit(&table->packed);
    return true;
}

/* One table for each device that is in the batch. */
static bool add_metrics(struct digest *d, enum digest_table_kind kind)
{
    const struct rows *rows = &d->rows;
    int column = kind == TABLE_DEVICE ? rows_column(rows, COLUMN(DEVICE, device_id)) : -1;
    size_t *row = malloc(rows->count * sizeof *row + 1);
    int64_t *scratch = malloc(rows->count * sizeof *scratch + 1);
    char *done = calloc(rows->count + 1, 1);
    bool ok = row && scratch && done;
    size_t most = d->tables + DEVICES_MAX; /* each costs a pass over all rows */
    for (size_t first = 0; ok && first < rows->count && d->tables < most; first++) {
        size_t count = 0;
        int64_t device = rows_cell_or(rows, first, column, DIGEST_HOST);
        for (size_t i = first; !done[first] && i < rows->count; i++) {
            if (!done[i] && rows_cell_or(rows, i, column, DIGEST_HOST) == device) {
                row[count++] = i;
                done[i] = i > first;
            }
        }
        ok = count == 0 || pack_metrics(d, kind, device, row, count, scratch);
    }
    free(row);
    free(scratch);
    free(done);
    return ok;
}

bool digest_device_metrics(struct digest *d)
{
    return add_metrics(d, TABLE_DEVICE);
}

bool digest_host_metrics(struct digest *d)
{
    return add_metrics(d, TABLE_HOST);
}

bool digest_scopes(struct digest *d)
{
    static const char *const column[] = {COLUMN(SCOPE, scope_instance_id),
                                         COLUMN(SCOPE, name_id),
                                         COLUMN(SCOPE, event_type), COLUMN(SCOPE, depth)};
    const struct rows *rows = &d->rows;
    int dt = rows_column(rows, COLUMN(SCOPE, dt_ns));
    int64_t *scratch = rows->count ? malloc(rows->count * sizeof *scratch) : NULL;
    if (!scratch) {
        return rows->count == 0;
    }
    struct digest_table *table = digest_add_table(d, TABLE_SCOPES, DIGEST_HOST);
    for (size_t i = 0; i < rows->count; i++) {
        scratch[i] = rows_time_ns(rows, i, dt);
        digest_note_time(d, scratch[i]);
    }
    bool ok = table && pack_times(d, table, scratch, rows->count);
    for (unsigned c = 0; ok && c < sizeof column / sizeof *column; c++) {
        int at = rows_column(rows, column[c]);
        for (size_t i = 0; i < rows->count; i++) {
            scratch[i] = rows_cell_or(rows, i, at, 0);
        }
        ok = pack_column(&table->packed, scratch, rows->count);
    }
    if (ok) {
        text_fit(&table->packed);
    }
    free(scratch);
    return ok;
}
