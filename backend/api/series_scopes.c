/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs the begin and end of scopes, and leaves out what is too short to be seen. */
#include "backend/api/series_scopes.h"

#include <stdlib.h>
#include <string.h>

#include "backend/digest/wrap.h"
#include "backend/store/store_query.h"

#define OPEN_MAX   4096u
#define DEPTHS_MAX 64

struct scope_in_series {
    int64_t instance;
    struct series_scope scope;
};

struct scopes {
    const struct series_axis *axis;
    void (*visit)(void *arg, const struct series_scope *scope);
    void *arg;
    struct series_columns columns;
    int64_t shown[DEPTHS_MAX]; /* the last slice with a short one, plus 1 */
    unsigned opens;
    struct scope_in_series open[OPEN_MAX];
};

static void show_scope(struct scopes *s, const struct series_scope *scope)
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
static void take_event(struct scopes *s, const struct scope_in_series *event,
                       int64_t type)
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
        show_scope(s, &scope);
    }
}

static bool scope_table(void *arg, const struct digest_table *table)
{
    static const unsigned index[5] = {0, 1, 2, 3, 4};
    struct scopes *s = arg;
    if (!series_read(&s->columns, table, index, 5)) {
        return true;
    }
    size_t rows = table->rows;
    const int64_t *at = s->columns.value;
    for (size_t i = 0; i < rows; i++) {
        struct scope_in_series event = {.instance = at[rows + i],
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
    const struct store_range range = {.session = session,
                                      .kind = TABLE_SCOPES,
                                      .from_ns = INT64_MIN,
                                      .to_ns = axis->to_ns};
    gpufl_status status = store_tables(store, &range, scope_table, s);
    for (unsigned i = 0; i < s->opens; i++) {
        show_scope(s, &s->open[i].scope);
    }
    free(s->columns.value);
    free(s);
    return status;
}
