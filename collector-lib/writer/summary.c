/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up a session while it runs, so that the report does not read any file. */
#include "collector-lib/writer/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/held_signals.h"
#include "collector-lib/writer/losses_text.h"

/* Of each table. A job may make up tens of thousands of names. */
#define REPORT_NAMES 20u

static void add_figure(struct summary_figure *figure, int64_t value)
{
    if (value < 0) {
        return;
    }
    figure->count++;
    figure->sum += value;
    figure->max = value > figure->max ? value : figure->max;
}

void summary_scope(struct summary *s, uint32_t name_id, int64_t ns)
{
    name_times_add(&s->scope, name_id, ns);
}

void summary_host(struct summary *s, const struct host_sample *sample)
{
    add_figure(&s->cpu_pct_x100, sample->cpu_pct_x100);
    add_figure(&s->ram_mib, sample->ram_used_mib);
}

void summary_gpu(struct summary *s, unsigned at, const struct gpu_sample *sample)
{
    struct summary_device *d = &s->device[at];
    s->devices = at + 1 > s->devices ? at + 1 : s->devices;
    add_figure(&d->util_pct, sample->gpu_util_pct);
    add_figure(&d->power_mw, sample->power_mw);
    add_figure(&d->temp_c, sample->temp_c);
    add_figure(&d->used_mib, sample->used_mib);
}

static double mean_of(const struct summary_figure *figure)
{
    return figure->count ? (double)figure->sum / (double)figure->count : 0;
}

/* Lists the REPORT_NAMES names with the longest total, and the sum of the others. */
static void render_times(struct name_times *times, const char *title,
                         const struct names *names, struct text *out)
{
    size_t used = name_times_sort(times);
    size_t shown = used < REPORT_NAMES ? used : REPORT_NAMES;
    int64_t rest_ns = 0;
    if (used) {
        text_printf(out, "\n%s by time (ms)\n%12s %12s %10s %10s %10s  %s\n", title,
                    "total", "calls", "mean", "min", "max", "name");
    }
    for (size_t i = 0; i < shown; i++) {
        const struct name_time *t = &times->at[i];
        text_printf(out, "%12.3f %12" PRIu64 " %10.3f %10.3f %10.3f  %s\n",
                    (double)t->total_ns / 1e6, t->count,
                    (double)t->total_ns / 1e6 / (double)t->count, (double)t->min_ns / 1e6,
                    (double)t->max_ns / 1e6, t->name_id ? names->name[t->name_id] : "?");
    }
    for (size_t i = shown; i < used; i++) {
        rest_ns += times->at[i].total_ns;
    }
    if (used > shown) {
        text_printf(out, "… and %zu more, %.3f ms together\n", used - shown,
                    (double)rest_ns / 1e6);
    }
}

#define NOT_WRITTEN "could not be written"
#define GONE        "file was removed, replaced or cut"

static void render_missing(uint64_t count, const char *of, const char *why,
                           struct text *out)
{
    if (count) {
        text_printf(out, "%" PRIu64 " of these %s are not in the files: %s\n", count, of,
                    why);
    }
}

/* Scopes are added up when they are written. */
static void render_scopes(struct summary *s, const struct names *names, struct text *out)
{
    render_times(&s->scope, "Scopes", names, out);
    render_missing(s->gone.pairs, "scopes", "their " GONE, out);
}

/* Kernels are added up when they are fetched. */
static void render_kernels(struct summary *s, const struct names *names, struct text *out)
{
    render_times(&s->kernel, "Kernels", names, out);
    render_missing(s->unwritten.count[ROWS_KERNELS], "kernels",
                   "their lines " NOT_WRITTEN, out);
    render_missing(s->gone.rows.count[ROWS_KERNELS], "kernels", "their " GONE, out);
}

static void render_rows(const struct row_counts *counts, const char *why,
                        struct text *out)
{
    struct text rows = {0};
    row_counts_text(counts, &rows);
    if (rows.len) {
        text_printf(out, "    in those %s: ", why);
        text_join(out, &rows);
        text_char(out, '\n');
    }
    text_fini(&rows);
}

/* What the closing record has beside its losses. */
static void render_unread(const struct tracer_status *traced, struct text *out)
{
    const struct {
        uint64_t count;
        const char *what;
    } unread[] = {
        {traced->samples_dropped,
         "PC samples, at least: the hardware dropped them, or there was no room"},
        {traced->contexts_unsampled, "contexts of CUDA that were not sampled"},
        {traced->foreign,
         "buffers of another profiler: the records in them were not read"}};
    for (size_t i = 0; i < sizeof unread / sizeof unread[0]; i++) {
        if (unread[i].count) {
            text_printf(out, "  %" PRIu64 " %s\n", unread[i].count, unread[i].what);
        }
    }
}

static void render_losses(const struct summary *s, const struct summary_context *context,
                          struct text *out)
{
    text_printf(out, "\nLosses\n  scopes       %" PRIu64 "\n  bytes        %" PRIu64 "\n",
                context->losses.count[LOSS_SCOPES], context->lost_bytes);
    losses_lines(&context->losses, "  ", out);
    render_rows(&s->unwritten, "that " NOT_WRITTEN, out);
    render_rows(&s->gone.rows, "whose " GONE, out);
    render_unread(context->traced, out);
}

static void render_figure(struct text *out, const char *name,
                          const struct summary_figure *figure, double scale,
                          const char *unit)
{
    if (figure->count) {
        text_printf(out, "  %-12s mean %10.1f  max %10.1f %s\n", name,
                    mean_of(figure) / scale, (double)figure->max / scale, unit);
    } else {
        text_printf(out, "  %-12s not available\n", name);
    }
}

static void render_devices(const struct summary *s, const struct summary_context *context,
                           struct text *out)
{
    for (unsigned i = 0; i < s->devices; i++) {
        text_printf(out, "\nGPU %u  %s\n", context->id[i], context->info[i].name);
        render_figure(out, "utilisation", &s->device[i].util_pct, 1, "%");
        render_figure(out, "memory", &s->device[i].used_mib, 1, "MiB");
        render_figure(out, "power", &s->device[i].power_mw, 1000, "W");
        render_figure(out, "temperature", &s->device[i].temp_c, 1, "C");
    }
}

void summary_render(struct summary *s, const struct summary_context *context,
                    struct text *out)
{
    text_printf(out, "gpufl report\n  app          %s\n  session      %s\n", context->app,
                context->session_id);
    text_printf(out, "  duration     %.3f s\n  scopes       %" PRIu64 "\n",
                (double)(s->end_ns - s->begin_ns) / 1e9, context->scopes);
    render_scopes(s, context->names, out);
    if (context->kernels) {
        render_kernels(s, context->kernels, out);
    }
    render_devices(s, context, out);
    if (s->cpu_pct_x100.count) {
        text_puts(out, "\nHost\n");
        render_figure(out, "CPU", &s->cpu_pct_x100, 100, "%");
        render_figure(out, "memory", &s->ram_mib, 1, "MiB");
    }
    render_losses(s, context, out);
}

void summary_fini(struct summary *s)
{
    name_times_fini(&s->scope);
    name_times_fini(&s->kernel);
    memset(s, 0, sizeof *s);
}

/* \return 0 or an errno. */
static int write_report(const char *report, FILE *out)
{
    bool written = fputs(report, out) >= 0;
    int reason = errno;
    bool closed = (out == stdout ? fflush(out) : fclose(out)) == 0;
    return !written ? reason : closed ? 0 : errno;
}

/* On a thread of the program, which a file that may not grow would end. */
gpufl_status summary_write(const char *report, const char *path)
{
    static const int may_come[] = {SIGPIPE, SIGXFSZ, 0};
    struct held_signals held;
    FILE *out = path && *path ? fopen(path, "we") : stdout;
    if (!out) {
        return GPUFL_ERR_IO;
    }
    held_signals_begin(&held, may_come);
    int reason = write_report(report, out);
    held_signals_end(&held, reason == EPIPE ? SIGPIPE : reason == EFBIG ? SIGXFSZ : 0);
    if (reason) {
        errno = reason;
    }
    return reason ? GPUFL_ERR_IO : GPUFL_OK;
}
