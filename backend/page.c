/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the page on the server: a table, and SVG lines for each session. */
#include "backend/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "backend/metrics.h"
#include "backend/series.h"

#define SESSIONS_SHOWN 50u
#define DEVICES_SHOWN  16u
#define CHART_WIDTH    640
#define CHART_HEIGHT   120
#define LIVE_MS        15000

static const char head[] =
    "<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content=2>"
    "<meta name=viewport content=\"width=device-width\"><title>gpufl "
    "sessions</title><style>"
    ":root{color-scheme:light dark}body{font:15px/1.5 "
    "system-ui,sans-serif;max-width:60rem;"
    "margin:2rem auto;padding:0 1rem}article{border:1px solid #8886;border-radius:8px;"
    "padding:1rem;margin:1rem 0}h1{font-size:1.4rem}h2{font-size:1.05rem;margin:0}"
    "dl{display:flex;flex-wrap:wrap;gap:.2rem 1.5rem;margin:.4rem 0}dt{opacity:.65}"
    "dt,dd{display:inline;margin:0}dd{font-variant-numeric:tabular-nums}"
    "svg{width:100%;height:auto}.legend{margin:.3rem 0 "
    "0;opacity:.75;font-size:.9em}.live{color:#0a7d33}.done{opacity:.65}code{font-size:."
    "85em}"
    "polyline{fill:none;stroke-width:1.5;vector-effect:non-scaling-stroke}</style>"
    "<h1>gpufl sessions</h1>";

struct line {
    struct series_point point[CHART_WIDTH];
    unsigned count;
};

/* What is drawn of one session so far. */
struct chart {
    struct series_axis axis;
    unsigned lines;
    struct line line[DEVICES_SHOWN + 1];
};

struct page {
    struct store *store;
    struct answer *answer;
    unsigned sessions;
    struct store_session session[SESSIONS_SHOWN];
};

static void collect_session(void *arg, const struct store_session *s)
{
    struct page *page = arg;
    if (page->sessions < SESSIONS_SHOWN) {
        page->session[page->sessions++] = *s;
    }
}

/* The points come device by device. */
static void collect_point(void *arg, const struct series_point *point)
{
    struct chart *chart = arg;
    struct line *line = &chart->line[chart->lines ? chart->lines - 1 : 0];
    if (chart->lines == 0 || line->point[0].device != point->device) {
        if (chart->lines == DEVICES_SHOWN + 1) {
            return;
        }
        line = &chart->line[chart->lines++];
    }
    if (line->count < CHART_WIDTH) {
        line->point[line->count++] = *point;
    }
}

static void draw_line(struct answer *a, const struct line *line,
                      const struct chart *chart, const char *colour, const char *label)
{
    int64_t span = chart->axis.to_ns - chart->axis.from_ns + 1;
    answer_printf(a, "<polyline stroke=\"%s\" points=\"", colour);
    for (unsigned i = 0; i < line->count; i++) {
        double x = (double)line->point[i].dt_ns * CHART_WIDTH / (double)span;
        double y = CHART_HEIGHT - line->point[i].max * CHART_HEIGHT / 100;
        answer_printf(a, "%.1f,%.1f ", x, y);
    }
    answer_printf(a, "\"><title>%s</title></polyline>", label);
}

/* device -1 is the host, in grey; GPUs get colours around the wheel. */
static void colour_of(int device, char out[32])
{
    if (device < 0) {
        snprintf(out, 32, "#888");
    } else {
        snprintf(out, 32, "hsl(%u 65%% 50%%)", (140 + (unsigned)device * 67) % 360);
    }
}

static void draw_lines(struct answer *a, const struct chart *chart)
{
    char colour[32];
    char label[32];
    answer_printf(a,
                  "<svg viewBox=\"0 0 %d %d\" role=img aria-label=\"utilisation over "
                  "time\"><rect width=100%% height=100%% fill=\"#8881\"/>",
                  CHART_WIDTH, CHART_HEIGHT);
    for (unsigned i = 0; i < chart->lines; i++) {
        int device = (int)chart->line[i].point[0].device;
        snprintf(label, sizeof label, device < 0 ? "host CPU" : "GPU %d", device);
        colour_of(device, colour);
        draw_line(a, &chart->line[i], chart, colour, label);
    }
    answer_printf(a, "</svg>");
}

static void draw_legend(struct answer *a, const struct chart *chart)
{
    char colour[32];
    answer_printf(a, "<p class=legend>");
    for (unsigned i = 0; i < chart->lines; i++) {
        int device = (int)chart->line[i].point[0].device;
        colour_of(device, colour);
        answer_printf(a, "<span style=\"color:%s\">&#9632;</span> ", colour);
        answer_printf(a, device < 0 ? "host CPU &ensp;" : "GPU %d &ensp;", device);
    }
    answer_printf(a, "0 to 100 %% over %.1f s</p>",
                  (double)(chart->axis.to_ns - chart->axis.from_ns) / 1e9);
}

static void draw_chart(struct page *page, const struct store_session *s)
{
    static const char *const metric[] = {"cpu_pct_x100", "gpu_util"};
    struct series_span span = {.points = CHART_WIDTH};
    struct chart *chart = calloc(1, sizeof *chart);
    bool ok = chart && series_axis(page->store, s->id, &span, &chart->axis) == GPUFL_OK;
    for (unsigned i = 0; ok && i < 2; i++) {
        ok = series_metric(page->store, s->id, metric_of(metric[i]), &chart->axis,
                           collect_point, chart) == GPUFL_OK;
    }
    if (ok && chart->lines) {
        draw_lines(page->answer, chart);
        draw_legend(page->answer, chart);
    } else {
        answer_printf(page->answer, "<p class=legend>no utilisation was recorded</p>");
    }
    free(chart);
}

static const char *state_of(const struct store_session *s)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    if (s->complete) {
        return "<span class=done>complete</span>";
    }
    return now_ms - s->last_seen_ms < LIVE_MS ? "<span class=live>live</span>" : "open";
}

static void draw_session(struct page *page, const struct store_session *s)
{
    struct answer *a = page->answer;
    char start[32] = "unknown";
    time_t seconds = (time_t)(s->start_ns / 1000000000);
    struct tm tm;
    if (s->start_ns > 0 && gmtime_r(&seconds, &tm)) {
        strftime(start, sizeof start, "%Y-%m-%d %H:%M:%S UTC", &tm);
    }
    answer_printf(a, "<article><h2>");
    answer_html(a, s->app[0] ? s->app : "(no job_start yet)");
    answer_printf(a,
                  " &middot; %s</h2><dl><div><dt>session </dt><dd><code>%s</code></dd>"
                  "</div><div><dt>host </dt><dd>",
                  state_of(s), s->session);
    answer_html(a, s->hostname);
    answer_printf(a, "</dd></div><div><dt>GPUs </dt><dd>");
    answer_html(a, s->gpus[0] ? s->gpus : "none seen");
    answer_printf(
        a,
        "</dd></div><div><dt>start </dt><dd>%s</dd></div><div><dt>lines </dt><dd>"
        "%" PRIu64 "</dd></div><div><dt>bytes </dt><dd>%" PRIu64 "</dd></div></dl>",
        start, s->lines, s->raw_bytes);
    draw_chart(page, s);
    answer_printf(a, "</article>");
}

int page_render(struct store *store, struct answer *answer)
{
    struct page *page = calloc(1, sizeof *page);
    if (!page) {
        return 500;
    }
    page->store = store;
    page->answer = answer;
    gpufl_status status =
        store_sessions(store, NULL, SESSIONS_SHOWN, collect_session, page);
    answer_printf(answer, "%s", head);
    if (page->sessions == 0) {
        answer_printf(answer,
                      "<p>Nothing stored yet. Start <code>gpufl-agent</code> on a "
                      "log directory, or run <code>gpufl upload DIR</code>.");
    }
    for (unsigned i = 0; i < page->sessions; i++) {
        draw_session(page, &page->session[i]);
    }
    free(page);
    return status == GPUFL_OK ? 200 : 500;
}
