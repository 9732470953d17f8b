/* SPDX-License-Identifier: Apache-2.0 */
/* Renders metrics and scopes over time. */
#include "backend/api/api_series.h"

#include <inttypes.h>
#include <stdlib.h>

#include "backend/api/series_metric.h"
#include "backend/api/series_scopes.h"
#include "backend/digest/metric_columns.h"
#include "backend/digest/wrap.h"
#include "backend/store/store_query.h"

#define NAMES_MAX 4096u

static void print_axis(struct text *answer, const struct series_axis *axis)
{
    text_printf(answer,
                "\"from_ns\":%" PRId64 ",\"to_ns\":%" PRId64 ",\"slice_ns\":%" PRId64,
                axis->from_ns, axis->to_ns, axis->slice_ns);
}

struct metric_answer {
    struct text *answer;
    bool any;
    int64_t device;
};

static void render_point(void *arg, const struct series_point *p)
{
    struct metric_answer *m = arg;
    bool other = !m->any || p->device != m->device;
    if (other) {
        text_printf(m->answer, "%s{\"device\":%" PRId64 ",\"points\":[",
                    m->any ? "]}," : "", p->device);
    }
    text_printf(m->answer, "%s[%" PRId64 ",%.10g,%.10g]", other ? "" : ",", p->dt_ns,
                p->min, p->max);
    m->any = true;
    m->device = p->device;
}

int api_metrics(struct store *store, int64_t session, const char *metric,
                const struct series_span *span, struct text *answer)
{
    struct metric_answer m = {.answer = answer};
    struct series_axis axis;
    int number = metric_column_of(metric);
    if (number < 0) {
        text_printf(answer,
                    "{\"error\":\"bad_request\",\"message\":\"metric: unknown name\"}\n");
        return 400;
    }
    if (series_axis(store, session, span, &axis) != GPUFL_OK) {
        return 500;
    }
    text_printf(answer, "{\"metric\":\"%s\",\"unit\":\"%s\",", metrics[number].name,
                metrics[number].unit);
    print_axis(answer, &axis);
    text_printf(answer, ",\"series\":[");
    gpufl_status status = series_metric(store, session, number, &axis, render_point, &m);
    text_printf(answer, "%s]}\n", m.any ? "]}" : "");
    return status == GPUFL_OK ? 200 : 500;
}

struct scope_answer {
    struct text *answer;
    const struct series_axis *axis;
    unsigned count;
    unsigned names;
    int64_t name[NAMES_MAX];
};

static void note_scope_name(struct scope_answer *s, int64_t name)
{
    unsigned i = 0;
    while (i < s->names && s->name[i] != name) {
        i++;
    }
    if (i == s->names && i < NAMES_MAX) {
        s->name[s->names++] = name;
    }
}

static void render_scope(void *arg, const struct series_scope *scope)
{
    struct scope_answer *s = arg;
    int64_t begin_ns = wrap_sub(scope->begin_ns, s->axis->from_ns);
    note_scope_name(s, scope->name);
    text_printf(s->answer, "%s[%" PRId64 ",%" PRId64 ",%" PRId64 ",",
                s->count++ ? "," : "", scope->name, scope->depth, begin_ns);
    if (scope->end_ns == INT64_MAX) {
        text_printf(s->answer, "null]");
    } else {
        text_printf(s->answer, "%" PRId64 "]", wrap_sub(scope->end_ns, s->axis->from_ns));
    }
}

int api_scopes(struct store *store, int64_t session, const struct series_span *span,
               struct text *answer)
{
    struct series_axis axis;
    struct scope_answer *s = calloc(1, sizeof *s);
    if (!s || series_axis(store, session, span, &axis) != GPUFL_OK) {
        free(s);
        return 500;
    }
    s->answer = answer;
    s->axis = &axis;
    text_printf(answer, "{");
    print_axis(answer, &axis);
    text_printf(answer, ",\"scopes\":[");
    gpufl_status status = series_scopes(store, session, &axis, render_scope, s);
    text_printf(answer, "],\"names\":{");
    for (unsigned i = 0; i < s->names; i++) {
        char *name = store_name(store, session, NAMES_SCOPE, s->name[i]);
        text_printf(answer, "%s\"%" PRId64 "\":", i ? "," : "", s->name[i]);
        text_json_string(answer, name ? name : "");
        free(name);
    }
    text_printf(answer, "}}\n");
    free(s);
    return status == GPUFL_OK ? 200 : 500;
}
