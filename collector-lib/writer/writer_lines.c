/* SPDX-License-Identifier: Apache-2.0 */
/* Formats what was recorded and appends it to the channels' files. */
#include "collector-lib/writer/writer_lines.h"

#include <string.h>

#include "collector-lib/core/clock.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/stacks.h"
#include "collector-lib/writer/capabilities.h"
#include "collector-lib/writer/losses_text.h"
#include "collector-lib/writer/scope_lines.h"
#include "collector-lib/writer/writer_append.h"
#include "collector-lib/writer/writer_files.h"
#include "schema/records.h"

#define BUSY_ROWS (RING_ROWS / 8) /* in one beat, of all threads */
/* Threads may record faster than can be written: then samples, traces and the check of
 * the disk's room do not wait for them. */
#define DRAIN_NS    10000000
#define MARKS_BYTES (256 * 1024) /* so many lines of marks are kept in memory at most */

/* Samples, marks, or both. */
static void append_system(struct writer *w)
{
    writer_append(w, CHANNEL_SYSTEM, &w->text);
    atomic_store_explicit(&w->samples,
                          row_counts_samples(&w->dir->parts[CHANNEL_SYSTEM].written.rows),
                          memory_order_relaxed);
    text_clear(&w->text);
}

static void flush_metrics(struct writer *w)
{
    text_clear(&w->text);
    sampler_write(&w->sampler, &w->context, &w->text);
    append_system(w);
}

/* The marks of a drain have what is read at the first one, which costs far more than a
 * line does. */
static void begin_marks(struct writer *w)
{
    text_clear(&w->text);
    text_clear(&w->mark_state);
}

static void add_mark(struct writer *w, bool start, const char *name, int64_t mono_ns)
{
    if (w->mark_state.len == 0) {
        sampler_write(&w->sampler, &w->context, &w->text); /* so that samples and marks
                                                              are in order */
        const struct record_state state = sampler_state(&w->sampler);
        record_mark_state(&w->mark_state, &state);
    }
    record_system_mark(&w->text, &w->context, &w->mark_state, start, name, mono_ns);
    if (w->text.len >= MARKS_BYTES) {
        append_system(w);
    }
}

static void write_mark(struct writer *w, bool start, const char *name, int64_t mono_ns)
{
    begin_marks(w);
    add_mark(w, start, name, mono_ns);
    append_system(w);
}

/* Phases that end without having begun are ignored. */
static void follow_phase(struct writer *w, const struct row *row)
{
    bool start = row->kind == ROW_SYSTEM_START;
    if (!start && row->kind != ROW_SYSTEM_STOP) {
        return;
    }
    if (start || w->open_phases) {
        w->open_phases += start ? 1 : -1;
    }
    add_mark(w, start, w->names->name[row->name_id], row->mono_ns);
}

static void follow_row(struct writer *w, struct row *row)
{
    if (row->kind == ROW_SCOPE_BEGIN) {
        scope_lines_begin(w, row);
    } else if (row->kind == ROW_SCOPE_END) {
        scope_lines_end(w, row);
    } else {
        follow_phase(w, row);
        tracing_row(&w->tracing, row, open_scopes_path(&w->open, row->instance));
    }
}

static void use_names(struct writer *w)
{
    name_set_clear(&w->row_names);
    for (size_t i = 0; i < w->rows.now.count; i++) {
        const struct row *row = &w->rows.now.row[i];
        if (row->kind != ROW_CALL && row->kind != ROW_WAIT) {
            name_set_add(&w->used_names, row->name_id);
        }
        if (row->kind == ROW_SCOPE_BEGIN || row->kind == ROW_SCOPE_END) {
            name_set_add(&w->row_names, row->name_id);
        }
    }
}

/* \return true if more may be waiting. */
static bool drain_some(struct writer *w)
{
    bool more = rings_drain(w->rings, w->generation, &w->rows);
    if (w->rows.now.count) {
        writer_files_keep_house(w);
        use_names(w);
        writer_append_names(w);
        begin_marks(w);
        w->scope_row = w->dir->parts[CHANNEL_SCOPE].written.rows.count[ROWS_SCOPES];
        for (size_t i = 0; i < w->rows.now.count; i++) {
            follow_row(w, &w->rows.now.row[i]);
        }
        append_system(w);
        scope_lines_write(w);
        writer_append_check_room(w);
    }
    return more;
}

/* Gradually, since a sleep that a sample cuts short has few rows, too. */
static int next_beat_ms(int beat_ms, size_t drained, bool more)
{
    if (more) {
        return 0;
    }
    if (drained >= BUSY_ROWS || beat_ms == 0) {
        return WRITER_BUSY_BEAT_MS;
    }
    return beat_ms < WRITER_BEAT_MS ? beat_ms * 2 : beat_ms;
}

/* What was fetched. */
static void write_trace(struct writer *w)
{
    struct trace_log *log = &w->tracing.log;
    if (w->tracing.fetched) {
        writer_files_keep_house(w);
    }
    if (!tracing_deliver(&w->tracing)) {
        return;
    }
    atomic_store_explicit(&w->kernels_unnamed, log->unnamed, memory_order_relaxed);
    atomic_store_explicit(&w->samples_unnamed, log->samples_unnamed,
                          memory_order_relaxed);
    atomic_store_explicit(&w->paths_lost, log->launches.paths_lost, memory_order_relaxed);
    atomic_store_explicit(&w->calls_forgotten, log->launches.calls_lost,
                          memory_order_relaxed);
    atomic_store_explicit(&w->sources_cut, log->files_cut, memory_order_relaxed);
    writer_append_names(w);
    writer_append(w, CHANNEL_DEVICE, &log->device_lines);
    writer_append(w, CHANNEL_SCOPE, &log->scope_lines);
    writer_append(w, CHANNEL_SASS, &log->sass_lines);
    text_clear(&log->device_lines);
    text_clear(&log->scope_lines);
    text_clear(&log->sass_lines);
    trace_names_written(&log->names);
}

void writer_lines_drain(struct writer *w, bool all)
{
    int64_t until_ns = clock_mono_ns() + DRAIN_NS;
    size_t drained = 0;
    bool more;
    if (all) {
        rings_ask(w->rings, &w->rows);
    }
    do {
        more = drain_some(w);
        drained += w->rows.now.count;
        if (w->rows.awaited == 0) {
            write_trace(w);
        }
    } while (more && (w->rows.asked || clock_mono_ns() < until_ns));
    w->beat_ms = next_beat_ms(w->beat_ms, drained, more);
}

void writer_lines_fetch(struct writer *w, bool now_or_never, bool last)
{
    if (tracing_fetch(&w->tracing, clock_mono_ns(), now_or_never, last)) {
        rings_await_calls(w->rings, &w->rows);
    }
}

static void say_session(const struct writer *w)
{
    const struct gpu_devices *devices = w->sampler.devices;
    library_log(GPUFL_LOG_INFO, "session %s in %s, %u GPUs by %s", w->dir->id,
                w->settings.log_path, devices ? devices->count : 0,
                devices ? devices->source : "none");
}

/* Without memory, what was there stays. */
static void append_opening(struct writer *w)
{
    const struct record_state state = sampler_state(&w->sampler);
    struct text opening = {0};
    if (w->settings.debug) {
        say_session(w);
    }
    record_job_start(&opening, &w->context, &state, w->tracing.profiler.runs,
                     w->dir->opened_ns);
    if (opening.failed) {
        text_fini(&opening);
        return;
    }
    text_fini(&w->opening);
    w->opening = opening;
    writer_append_opening(w);
}

/* Each channel is told of the devices before the first row that names one. */
static void open_with_devices(struct writer *w)
{
    if (sampler_find_devices(&w->sampler)) {
        append_opening(w);
    }
}

void writer_lines_sample(struct writer *w)
{
    open_with_devices(w);
    bool active = w->settings.continuous || w->open_phases > 0 || w->open.count > 0;
    sampler_step(&w->sampler, active, clock_mono_ns(), &w->summary);
    if (w->sampler.host_rows) {
        writer_files_keep_house(w);
        flush_metrics(w);
    }
}

void writer_lines_open(struct writer *w)
{
    sampler_open(&w->sampler, &w->settings, &w->devices);
    sampler_find_devices(&w->sampler);
    append_opening(w);
    if (w->settings.continuous && w->settings.sample_rate_ms) {
        write_mark(w, true, "sampling_start", clock_mono_ns());
    }
}

struct losses writer_lines_losses(struct writer *w)
{
    struct losses losses = {0};
    rings_losses(w->rings, &losses);
    losses.count[LOSS_NOT_ENDED] +=
        atomic_load_explicit(&w->left_open, memory_order_relaxed);
    losses.count[LOSS_PHASES_NOT_ENDED] =
        atomic_load_explicit(&w->phases_left_open, memory_order_relaxed);
    losses.count[LOSS_NO_MEMORY] +=
        atomic_load_explicit(&w->ends_without_memory, memory_order_relaxed);
    losses.count[LOSS_SCOPE_NAMES] =
        atomic_load_explicit(&w->names->overflowed, memory_order_relaxed);
    losses.count[LOSS_SCOPE_PATHS] =
        atomic_load_explicit(&w->paths_lost, memory_order_relaxed);
    losses.count[LOSS_FORGOTTEN] =
        atomic_load_explicit(&w->calls_forgotten, memory_order_relaxed);
    losses.count[LOSS_STACKS] = stacks_overflowed();
    losses.count[LOSS_KERNEL_NAMES] =
        atomic_load_explicit(&w->kernels_unnamed, memory_order_relaxed);
    losses.count[LOSS_SAMPLE_NAMES] =
        atomic_load_explicit(&w->samples_unnamed, memory_order_relaxed);
    losses.count[LOSS_SOURCES] =
        atomic_load_explicit(&w->sources_cut, memory_order_relaxed);
    losses.count[LOSS_RECORDS] =
        atomic_load_explicit(&w->records_lost, memory_order_relaxed);
    losses.count[LOSS_LAUNCHES] =
        atomic_load_explicit(&w->launches_lost, memory_order_relaxed);
    losses.count[LOSS_FETCHES] =
        atomic_load_explicit(&w->fetches_failed, memory_order_relaxed);
    losses.count[LOSS_BUFFERS] =
        atomic_load_explicit(&w->buffers_unread, memory_order_relaxed);
    losses.count[LOSS_DEVICE_SAMPLES] =
        atomic_load_explicit(&w->device_samples_missing, memory_order_relaxed);
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        losses.lines[c] = atomic_load_explicit(&w->lines_lost[c], memory_order_relaxed) +
                          atomic_load_explicit(&w->lines_gone[c], memory_order_relaxed);
        losses.count[LOSS_LINES] += losses.lines[c];
    }
    for (int kind = 0; kind < LOSS_KINDS; kind++) {
        losses.count[kind] -= w->lost_before.count[kind];
    }
    return losses;
}

/* A message for each line of \p text, which it changes. */
static void say_lines(char *text)
{
    char *rest;
    for (char *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        library_log(GPUFL_LOG_WARNING, "%s", line);
    }
}

/* The last lines may be among them. */
static void report_losses(struct writer *w)
{
    struct text text = {0};
    const struct losses losses = writer_lines_losses(w);
    losses_lines(&losses, "  ", &text);
    text_append(&text, "", 1);
    if (text.len > 1 && !text.failed) {
        library_log(GPUFL_LOG_WARNING, "session %s does not contain:", w->dir->id);
        say_lines(text.data);
    }
    text_fini(&text);
}

static void count_records_lost(struct writer *w)
{
    const struct tracer_status *t = &w->tracing.status;
    atomic_store_explicit(&w->records_lost, t->dropped + t->incomplete,
                          memory_order_relaxed);
    atomic_store_explicit(&w->launches_lost, t->unrecorded, memory_order_relaxed);
    atomic_store_explicit(&w->fetches_failed, t->fetches_failed, memory_order_relaxed);
    atomic_store_explicit(&w->buffers_unread, t->buffers_unread, memory_order_relaxed);
}

static void store_beyond(_Atomic uint64_t *to, uint64_t open, uint64_t counted)
{
    atomic_store_explicit(to, open > counted ? open - counted : 0, memory_order_relaxed);
}

/* What has no end since that found no room in its ring is counted there. */
static void count_left_open(struct writer *w)
{
    const struct losses losses = writer_lines_losses(w);
    store_beyond(&w->left_open, w->open.count, losses.count[LOSS_SCOPE_ENDS]);
    store_beyond(&w->phases_left_open, (uint64_t)w->open_phases,
                 losses.count[LOSS_PHASES]);
}

void writer_lines_close(struct writer *w)
{
    writer_files_retry_last(w);
    if (atomic_load_explicit(&w->tracer_gone, memory_order_relaxed)) {
        tracing_abandon(&w->tracing);
    }
    writer_lines_fetch(w, true, true);
    writer_lines_drain(w, true);
    write_trace(w); /* also if there was no memory for all rows */
    count_records_lost(w);
    count_left_open(w);
    flush_metrics(w);
    sampler_finish(&w->sampler, w->stop_by_ns); /* all else is in the files by now */
    open_with_devices(w);
    atomic_store_explicit(&w->device_samples_missing, w->sampler.missing,
                          memory_order_relaxed);
    text_clear(&w->text);
    writer_files_restore_names(w);
    const struct losses losses = writer_lines_losses(w);
    record_capabilities(&w->text, &w->context, &w->settings, &w->tracing, &losses,
                        clock_mono_ns());
    writer_append_everywhere(w, &w->text);
    if (w->settings.continuous && w->settings.sample_rate_ms) {
        write_mark(w, false, "sampling_end", clock_mono_ns());
    }
    text_clear(&w->text);
    record_shutdown(&w->text, &w->context, clock_mono_ns());
    writer_append_everywhere(w, &w->text);
    writer_files_restore_names(w); /* for the last time */
    writer_files_mark_losses(w);
    report_losses(w);
    w->summary.end_ns = clock_mono_ns();
}
