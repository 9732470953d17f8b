/* SPDX-License-Identifier: Apache-2.0 */
/* Reduces a metric to the minimum and maximum of each slice. */
#include "backend/api/series_metric.h"

#include <stdlib.h>

#include "backend/digest/metric_columns.h"
#include "backend/digest/wrap.h"
#include "backend/store/store_query.h"

#define NOT_THERE (-1) /* written where a device does not have the metric */

struct slices {
    const struct series_axis *axis;
    void (*visit)(void *arg, const struct series_point *point);
    void *arg;
    struct series_columns columns;
    int metric;
    int64_t device;
    int64_t number; /* of the slice that is being filled; -1 = none */
    int64_t dt_ns;
    int64_t min, max;
};

static void end_slice(struct slices *s)
{
    double scale = metrics[s->metric].scale;
    if (s->number >= 0) {
        struct series_point point = {s->device, s->dt_ns, (double)s->min * scale,
                                     (double)s->max * scale};
        s->visit(s->arg, &point);
    }
    s->number = -1;
}

static void add_to_slice(struct slices *s, int64_t ts_ns, int64_t value)
{
    int64_t dt_ns = wrap_sub(ts_ns, s->axis->from_ns);
    int64_t number = dt_ns / s->axis->slice_ns;
    if (ts_ns < s->axis->from_ns || ts_ns > s->axis->to_ns || dt_ns < 0 ||
        value == NOT_THERE || value == ROWS_NOTHING) {
        return;
    }
    if (number != s->number) {
        end_slice(s);
        s->number = number;
        s->dt_ns = dt_ns;
        s->min = s->max = value;
    }
    s->min = value < s->min ? value : s->min;
    s->max = value > s->max ? value : s->max;
}

static bool metric_table(void *arg, const struct digest_table *table)
{
    struct slices *s = arg;
    uint64_t bit = UINT64_C(1) << s->metric;
    /* Its column follows the times and the metrics before it. */
    unsigned index[2] = {0,
                         1 + (unsigned)__builtin_popcountll(table->metrics & (bit - 1))};
    if (!(table->metrics & bit) || !series_read(&s->columns, table, index, 2)) {
        return true;
    }
    if (table->device != s->device) {
        end_slice(s);
        s->device = table->device;
    }
    for (size_t i = 0; i < table->rows; i++) {
        add_to_slice(s, s->columns.value[i], s->columns.value[table->rows + i]);
    }
    return true;
}

gpufl_status series_metric(struct store *store, int64_t session, int metric,
                           const struct series_axis *axis,
                           void (*visit)(void *arg, const struct series_point *point),
                           void *arg)
{
    struct slices s = {
        .axis = axis, .visit = visit, .arg = arg, .metric = metric, .number = -1};
    const struct store_range range = {.session = session,
                                      .kind = metrics[metric].host ? TABLE_HOST
                                                                   : TABLE_DEVICE,
                                      .from_ns = axis->from_ns,
                                      .to_ns = axis->to_ns};
    gpufl_status status = store_tables(store, &range, metric_table, &s);
    end_slice(&s);
    free(s.columns.value);
    return status;
}
