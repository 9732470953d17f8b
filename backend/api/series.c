/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/api/series.h"

#include <stdlib.h>
#include <string.h>

#include "backend/digest/metric_columns.h"
#include "backend/digest/wrap.h"
#include "backend/store/store_query.h"

#define OPEN_MAX   4096u
#define DEPTHS_MAX 64
#define NOT_THERE  (-1) /* what a record says where a device has no such metric */

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

/* Columns of the table that is being read. */
struct columns {
    int64_t *value;
    size_t cap;
};

/* \p count columns of a table, one behind the other, each table->rows long. */
static bool read_columns(struct columns *c, const struct digest_table *table,
                         const unsigned *index, unsigned count)
{
    if (table->rows > c->cap / count) {
        int64_t *more = realloc(c->value, table->rows * count * sizeof *more);
        if (!more) {
            return false;
        }
        c->value = more;
        c->cap = table->rows * count;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!unpack_column(table->packed.data, table->packed.len, table->rows, index[i],
                           c->value + i * table->rows)) {
            return false;
        }
    }
    return true;
}

/* ---- metrics ---- */

struct slices {
    const struct series_axis *axis;
    void (*visit)(void *arg, const struct series_point *point);
    void *arg;
    struct columns columns;
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

static void add_sample(struct slices *s, int64_t ts_ns, int64_t value)
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
    /* Behind the times and the metrics before it. */
    unsigned index[2] = {0,
                         1 + (unsigned)__builtin_popcountll(table->metrics & (bit - 1))};
    if (!(table->metrics & bit) || !read_columns(&s->columns, table, index, 2)) {
        return true;
    }
    if (table->device != s->device) {
        end_slice(s);
        s->device = table->device;
    }
    for (size_t i = 0; i < table->rows; i++) {
        add_sample(s, s->columns.value[i], s->columns.value[table->rows + i]);
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
    gpufl_status status =
        store_tables(store, session, metrics[metric].host ? TABLE_HOST : TABLE_DEVICE,
                     axis->from_ns, axis->to_ns, metric_table, &s);
    end_slice(&s);
    free(s.columns.value);
    return status;
}

/* ---- scopes ---- */

struct open_scope {
    int64_t instance;
    struct series_scope scope;
};

struct scopes {
    const struct series_axis *axis;
    void (*visit)(void *arg, const struct series_scope *scope);
    void *arg;
    struct columns columns;
    int64_t shown[DEPTHS_MAX]; /* the last slice with a short one, plus 1 */
    unsigned opens;
    struct open_scope open[OPEN_MAX];
};

static void show(struct scopes *s, const struct series_scope *scope)
{
    const struct series_axis *axis = s->axis;
    int64_t number = wrap_sub(scope->begin_ns, axis->from_ns) / axis->slice_ns + 1;
    bool is_short = scope->end_ns != INT64_MAX &&
                    wrap_sub(scope->end_ns, scope->begin_ns) < axis->slice_ns;
    if (scope->end_ns < axis->from_ns || scope->begin_ns > axis->to_ns) {
        return;
    }
    if (is_short && scope->depth >= 0 && scope->depth < DEPTHS_MAX) {
        if (s->shown[scope->depth] == number) {
            return;
        }
        s->shown[scope->depth] = number;
    }
    s->visit(s->arg, scope);
}

/* Event types are even where a scope begins, odd where it ends. */
static void take_event(struct scopes *s, const struct open_scope *event, int64_t type)
{
    if (type % 2 == 0) {
        if (s->opens < OPEN_MAX) {
            s->open[s->opens++] = *event;
        }
        return;
    }
    unsigned i = s->opens;
    while (i > 0 && s->open[i - 1].instance != event->instance) {
        i--;
    }
    if (i > 0) {
        struct series_scope scope = s->open[i - 1].scope;
        scope.end_ns = event->scope.begin_ns;
        memmove(&s->open[i - 1], &s->open[i], (s->opens - i) * sizeof s->open[0]);
        s->opens--;
        show(s, &scope);
    }
}

static bool scope_table(void *arg, const struct digest_table *table)
{
    static const unsigned index[5] = {0, 1, 2, 3, 4};
    struct scopes *s = arg;
    if (!read_columns(&s->columns, table, index, 5)) {
        return true;
    }
    size_t rows = table->rows;
    const int64_t *at = s->columns.value;
    for (size_t i = 0; i < rows; i++) {
        struct open_scope event = {.instance = at[rows + i],
                                   .scope = {.name = at[2 * rows + i],
                                             .depth = at[4 * rows + i],
                                             .begin_ns = at[i],
                                             .end_ns = INT64_MAX}};
        take_event(s, &event, at[3 * rows + i]);
    }
    return true;
}

gpufl_status series_scopes(struct store *store, int64_t session,
                           const struct series_axis *axis,
                           void (*visit)(void *arg, const struct series_scope *scope),
                           void *arg)
{
    struct scopes *s = calloc(1, sizeof *s);
    if (!s) {
        return GPUFL_ERR_NOMEM;
    }
    s->axis = axis;
    s->visit = visit;
    s->arg = arg;
    /* From the beginning: what is open at from_ns began before it. */
    gpufl_status status = store_tables(store, session, TABLE_SCOPES, INT64_MIN,
                                       axis->to_ns, scope_table, s);
    for (unsigned i = 0; i < s->opens; i++) {
        show(s, &s->open[i].scope);
    }
    free(s->columns.value);
    free(s);
    return status;
}
