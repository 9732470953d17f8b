/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the page on the server: a table, and SVG lines for each session. */
#include "backend/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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
    "svg{width:100%;height:auto}.live{color:#0a7d33}.done{opacity:.65}code{font-size:."
    "85em}"
    "polyline{fill:none;stroke-width:1.5;vector-effect:non-scaling-stroke}</style>"
    "<h1>gpufl sessions</h1>";

struct point {
    int64_t ts_ns;
    int32_t value;
};

struct line {
    struct point point[CHART_WIDTH];
    unsigned count;
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

static void collect_point(void *arg, int64_t ts_ns, int32_t value)
{
    struct line *line = arg;
    if (line->count < CHART_WIDTH) {
        line->point[line->count++] = (struct point){ts_ns, value};
    }
}

static void draw_line(struct answer *a, const struct line *line, int64_t first_ns,
                      int64_t last_ns, int scale, unsigned hue, const char *label)
{
    int64_t span = last_ns > first_ns ? last_ns - first_ns : 1;
    answer_printf(a, "<polyline stroke=\"hsl(%u 65%% 50%%)\" points=\"", hue);
    for (unsigned i = 0; i < line->count; i++) {
        double x = (double)(line->point[i].ts_ns - first_ns) * CHART_WIDTH / (double)span;
        double y = CHART_HEIGHT - (double)line->point[i].value * CHART_HEIGHT / scale;
        answer_printf(a, "%.1f,%.1f ", x, y);
    }
    answer_printf(a, "\"><title>%s</title></polyline>", label);
}

static void draw_chart(struct page *page, const struct store_session *s)
{
    struct line *line = malloc(sizeof *line);
    unsigned devices = store_devices(page->store, s->id);
    char label[32];
    if (!line) {
        return;
    }
    devices = devices < DEVICES_SHOWN ? devices : DEVICES_SHOWN;
    line->count = 0;
    if (store_samples(page->store, s->id, -1, CHART_WIDTH, collect_point, line) ==
            GPUFL_OK &&
        line->count > 1) {
        int64_t first = line->point[0].ts_ns;
        int64_t last = line->point[line->count - 1].ts_ns;
        answer_printf(page->answer,
                      "<svg viewBox=\"0 0 %d %d\" role=img aria-label=\"utilisation in "
                      "percent over %.1f s: GPUs in colour, host CPU in grey\">"
                      "<rect width=100%% height=100%% fill=\"#8881\"/>",
                      CHART_WIDTH, CHART_HEIGHT, (double)(last - first) / 1e9);
        draw_line(page->answer, line, first, last, 10000, 0, "host CPU");
        for (unsigned d = 0; d < devices; d++) {
            line->count = 0;
            if (store_samples(page->store, s->id, (int)d, CHART_WIDTH, collect_point,
                              line) == GPUFL_OK) {
                snprintf(label, sizeof label, "GPU %u", d);
                draw_line(page->answer, line, first, last, 100, 140 + d * 67 % 220,
                          label);
            }
        }
        answer_printf(page->answer, "</svg>");
    }
    free(line);
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
