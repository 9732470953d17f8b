/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up a session while it runs, so that the report needs no file read. */
#include "collector-lib/writer/summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_MIN    256u
#define TOP_KERNELS 20u

struct summary_open {
    uint64_t instance; /* 0 = free */
    int64_t begin_ns;
};

static void add(struct summary_figure *figure, int64_t value)
{
    if (value < 0) {
        return;
    }
    figure->count++;
    figure->sum += value;
    figure->max = value > figure->max ? value : figure->max;
}

/* ---- scopes that have begun: open addressing, linear probing ---- */

static size_t home_of(const struct summary *s, uint64_t instance)
{
    return (size_t)(instance * 0x9e3779b97f4a7c15u >> 32) & (s->open_cap - 1);
}

static struct summary_open *find(struct summary *s, uint64_t instance)
{
    size_t at = home_of(s, instance);
    while (s->open[at].instance && s->open[at].instance != instance) {
        at = (at + 1) & (s->open_cap - 1);
    }
    return &s->open[at];
}

static bool grow(struct summary *s)
{
    struct summary_open *old = s->open;
    size_t old_cap = s->open_cap;
    size_t cap = old_cap ? old_cap * 2 : OPEN_MIN;
    struct summary_open *more = calloc(cap, sizeof *more);
    if (!more) {
        return false;
    }
    s->open = more;
    s->open_cap = cap;
    for (size_t i = 0; i < old_cap; i++) {
        if (old[i].instance) {
            *find(s, old[i].instance) = old[i];
        }
    }
    free(old);
    return true;
}

static void begin(struct summary *s, const struct row *row)
{
    if (s->opens * 2 >= s->open_cap && !grow(s)) {
        return; /* without memory this scope is not in the report */
    }
    struct summary_open *slot = find(s, row->instance);
    s->opens += slot->instance == 0;
    *slot = (struct summary_open){row->instance, row->mono_ns};
}

/* Frees a slot and moves up what would no longer be found behind the gap. */
static void release(struct summary *s, struct summary_open *slot)
{
    size_t gap = (size_t)(slot - s->open);
    size_t mask = s->open_cap - 1;
    for (size_t at = (gap + 1) & mask; s->open[at].instance; at = (at + 1) & mask) {
        size_t home = home_of(s, s->open[at].instance);
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            s->open[gap] = s->open[at];
            gap = at;
        }
    }
    s->open[gap].instance = 0;
    s->opens--;
}

/* ---- times by name ---- */

static struct summary_time *time_of(struct summary_times *times, uint32_t name_id)
{
    if (name_id >= times->count) {
        size_t count = times->count ? times->count * 2 : 16;
        count = count > name_id ? count : (size_t)name_id + 1;
        struct summary_time *more = realloc(times->at, count * sizeof *more);
        if (!more) {
            return NULL;
        }
        memset(more + times->count, 0, (count - times->count) * sizeof *more);
        times->at = more;
        times->count = count;
    }
    return &times->at[name_id];
}

/* Without memory a new name is not in the report. */
static void add_time(struct summary_times *times, uint32_t name_id, int64_t ns)
{
    struct summary_time *t = time_of(times, name_id);
    if (t) {
        t->name_id = name_id;
        t->min_ns = t->count && t->min_ns < ns ? t->min_ns : ns;
        t->count++;
        t->total_ns += ns;
        t->max_ns = ns > t->max_ns ? ns : t->max_ns;
    }
}

static void end(struct summary *s, const struct row *row)
{
    struct summary_open *slot = s->open_cap ? find(s, row->instance) : NULL;
    s->pairs++;
    if (slot && slot->instance) {
        int64_t ns = row->mono_ns - slot->begin_ns;
        release(s, slot);
        add_time(&s->scope, row->name_id, ns);
    }
}

void summary_row(struct summary *s, const struct row *row)
{
    if (row->kind == ROW_SCOPE_BEGIN) {
        begin(s, row);
    } else if (row->kind == ROW_SCOPE_END) {
        end(s, row);
    }
}

void summary_kernel(struct summary *s, uint32_t kernel_id, int64_t duration_ns)
{
    add_time(&s->kernel, kernel_id, duration_ns);
}

/* ---- figures ---- */

void summary_host(struct summary *s, const struct host_sample *sample)
{
    s->samples++;
    add(&s->cpu_pct_x100, sample->cpu_pct_x100);
    add(&s->ram_mib, sample->ram_used_mib);
}

void summary_gpu(struct summary *s, unsigned at, const struct gpu_sample *sample)
{
    struct summary_device *d = &s->device[at];
    s->samples++;
    s->devices = at + 1 > s->devices ? at + 1 : s->devices;
    add(&d->util_pct, sample->gpu_util_pct);
    add(&d->power_mw, sample->power_mw);
    add(&d->temp_c, sample->temp_c);
    add(&d->used_mib, sample->used_mib);
}

/* ---- the text ---- */

static int by_total(const void *left, const void *right)
{
    const struct summary_time *a = left;
    const struct summary_time *b = right;
    if (!a->count || !b->count) { /* unused ids last */
        return (a->count == 0) - (b->count == 0);
    }
    return a->total_ns > b->total_ns ? -1 : a->total_ns < b->total_ns;
}

static double mean(const struct summary_figure *figure)
{
    return figure->count ? (double)figure->sum / (double)figure->count : 0;
}

/* At most \p most of them, the longest first. */
static void render_times(struct summary_times *times, const char *title, size_t most,
                         const struct names *names, struct text *out)
{
    if (times->count) {
        qsort(times->at, times->count, sizeof *times->at, by_total);
    }
    if (times->count && times->at[0].count) {
        text_printf(out, "\n%s by time (ms)\n%12s %12s %10s %10s %10s  %s\n", title,
                    "total", "calls", "mean", "min", "max", "name");
    }
    for (size_t i = 0; i < times->count && i < most && times->at[i].count; i++) {
        const struct summary_time *t = &times->at[i];
        text_printf(out, "%12.3f %12" PRIu64 " %10.3f %10.3f %10.3f  %s\n",
                    (double)t->total_ns / 1e6, t->count,
                    (double)t->total_ns / 1e6 / (double)t->count, (double)t->min_ns / 1e6,
                    (double)t->max_ns / 1e6, t->name_id ? names->name[t->name_id] : "?");
    }
}

static void render_figure(struct text *out, const char *name,
                          const struct summary_figure *figure, double scale,
                          const char *unit)
{
    if (figure->count) {
        text_printf(out, "  %-12s mean %10.1f  max %10.1f %s\n", name,
                    mean(figure) / scale, (double)figure->max / scale, unit);
    } else {
        text_printf(out, "  %-12s not available\n", name);
    }
}

static void render_devices(const struct summary *s, const struct gpu_info *info,
                           struct text *out)
{
    for (unsigned i = 0; i < s->devices; i++) {
        text_printf(out, "\nGPU %u  %s\n", i, info[i].name);
        render_figure(out, "utilisation", &s->device[i].util_pct, 1, "%");
        render_figure(out, "memory", &s->device[i].used_mib, 1, "MiB");
        render_figure(out, "power", &s->device[i].power_mw, 1000, "W");
        render_figure(out, "temperature", &s->device[i].temp_c, 1, "C");
    }
}

void summary_render(struct summary *s, const char *app, const char *session_id,
                    const struct names *names, const struct names *kernels,
                    const struct gpu_info *info, uint64_t dropped, uint64_t lost_bytes,
                    struct text *out)
{
    text_printf(out, "gpufl report\n  app          %s\n  session      %s\n", app,
                session_id);
    text_printf(out, "  duration     %.3f s\n  scopes       %" PRIu64 "\n",
                (double)(s->end_ns - s->begin_ns) / 1e9, s->pairs);
    render_times(&s->scope, "Scopes", SIZE_MAX, names, out);
    if (kernels) {
        render_times(&s->kernel, "Kernels", TOP_KERNELS, kernels, out);
    }
    render_devices(s, info, out);
    if (s->cpu_pct_x100.count) {
        text_puts(out, "\nHost\n");
        render_figure(out, "CPU", &s->cpu_pct_x100, 100, "%");
        render_figure(out, "memory", &s->ram_mib, 1, "MiB");
    }
    text_printf(out, "\nLosses\n  scopes       %" PRIu64 "\n  bytes        %" PRIu64 "\n",
                dropped, lost_bytes);
}

void summary_fini(struct summary *s)
{
    free(s->scope.at);
    free(s->kernel.at);
    free(s->open);
    memset(s, 0, sizeof *s);
}
