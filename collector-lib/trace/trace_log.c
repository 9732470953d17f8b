/* SPDX-License-Identifier: Apache-2.0 */
/* Turns kernels, copies, waits and samples into rows, and rows into lines. */
#include "collector-lib/trace/trace_log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector-lib/files/files_thread.h"
#include "collector-lib/trace/trace_records.h"
#include "schema/records.h"

#define SOURCE_MAX_BYTES (1 << 20)

bool trace_log_init(struct trace_log *log, const struct record_context *context,
                    struct name_times *kernel_times, const struct source_roots *source)
{
    log->context = context;
    log->kernel_times = kernel_times;
    log->source = source;
    log->kernel =
        (struct trace_batch){.type = RECORD_KERNELS,
                             .columns = RECORD_COLUMN_TEXT(RECORD_KERNEL_COLUMNS),
                             .lines = &log->device_lines};
    log->copy = (struct trace_batch){.type = RECORD_COPIES,
                                     .columns = RECORD_COLUMN_TEXT(RECORD_COPY_COLUMNS),
                                     .lines = &log->device_lines};
    log->set = (struct trace_batch){.type = RECORD_SETS,
                                    .columns = RECORD_COLUMN_TEXT(RECORD_SET_COLUMNS),
                                    .lines = &log->device_lines};
    log->wait = (struct trace_batch){.type = RECORD_WAITS,
                                     .columns = RECORD_COLUMN_TEXT(RECORD_WAIT_COLUMNS),
                                     .lines = &log->scope_lines};
    log->memory =
        (struct trace_batch){.type = RECORD_ALLOCATIONS,
                             .columns = RECORD_COLUMN_TEXT(RECORD_ALLOCATION_COLUMNS),
                             .lines = &log->scope_lines};
    log->sample =
        (struct trace_batch){.type = RECORD_SAMPLES,
                             .columns = RECORD_COLUMN_TEXT(RECORD_SAMPLE_COLUMNS),
                             .lines = &log->scope_lines};
    if (!kernel_configs_init(&log->configs) || !launches_init(&log->launches) ||
        !trace_names_init(&log->names)) {
        trace_log_fini(log);
        return false;
    }
    return true;
}

void trace_log_fini(struct trace_log *log)
{
    trace_batch_fini(&log->kernel);
    trace_batch_fini(&log->copy);
    trace_batch_fini(&log->set);
    trace_batch_fini(&log->wait);
    trace_batch_fini(&log->memory);
    trace_batch_fini(&log->sample);
    text_fini(&log->device_lines);
    text_fini(&log->scope_lines);
    text_fini(&log->sass_lines);
    text_fini(&log->stack);
    stack_names_fini(&log->stack_names);
    free(log->stack_function);
    launches_fini(&log->launches);
    trace_names_fini(&log->names);
    kernel_configs_fini(&log->configs);
    memset(log, 0, sizeof *log);
}

void trace_log_learn(struct trace_log *log)
{
    stack_names_learn(&log->stack_names);
}

void trace_log_rewind(struct trace_log *log)
{
    kernel_configs_forget(&log->configs);
    trace_devices_rewind(&log->devices);
}

/* "" for none. Valid until the next call. */
static const char *stack_text(struct trace_log *log, uint32_t stack_id)
{
    text_clear(&log->stack);
    stack_names_text(&log->stack_names, stack_id, &log->stack);
    text_append(&log->stack, "", 1);
    return log->stack.failed ? "" : log->stack.data;
}

/* The id of a stack in the dictionary of functions; 0 for none. */
static uint32_t stack_function(struct trace_log *log, uint32_t stack_id)
{
    if (stack_id && !log->stack_function) {
        log->stack_function = calloc(STACKS_MAX + 1, sizeof *log->stack_function);
    }
    if (!stack_id || !log->stack_function) {
        return 0;
    }
    uint32_t *id = &log->stack_function[stack_id];
    if (!*id) {
        *id = trace_names_stack(&log->names, stack_text(log, stack_id));
    }
    trace_names_use_stack(&log->names, *id);
    return *id;
}

/* The device of a record, whose own record is written once. NULL if there are too many.
 */
static const struct trace_device_known *device_of(struct trace_log *log, uint32_t ordinal)
{
    struct trace_device_known *known = trace_devices_find(&log->devices, ordinal);
    if (known && !known->written) {
        known->written = true;
        record_device(&log->device_lines, log->context, known);
    }
    return known;
}

static uint32_t device_id(struct trace_log *log, uint32_t ordinal)
{
    const struct trace_device_known *known = device_of(log, ordinal);
    return known ? known->id : DEVICE_TABLE_MAX;
}

/* The launch whose detail describes \p k. A new detail is written behind the batch. */
static uint32_t detail_of(struct trace_log *log, const struct trace_kernel *k,
                          uint32_t kernel_id, const struct launch *launch)
{
    bool is_new = true;
    uint32_t correlation =
        log->details_per_launch
            ? k->correlation
            : kernel_configs_detail(&log->configs, k, kernel_id, launch, &is_new);
    if (is_new) {
        const struct trace_device_known *device = device_of(log, k->device);
        struct occupancy o = occupancy_of(device ? &device->about : NULL, k);
        record_kernel_detail(&log->kernel.behind, log->context, k, &o,
                             launches_path(&log->launches, launch->path_id),
                             stack_text(log, launch->stack_id));
        text_puts(&log->kernel.behind,
                  log->details_per_launch ? "}\n" : ",\"per_launch\":false}\n");
    }
    return correlation;
}

static void on_kernel(void *arg, const struct trace_kernel *k)
{
    struct trace_log *log = arg;
    struct launch launch = launches_find(&log->launches, k->correlation);
    struct kernel_refs refs = {.kernel_id = trace_names_kernel(&log->names, k->symbol),
                               .device = device_id(log, k->device),
                               .scope_instance = launch.instance,
                               .external_kind = launch.external_kind,
                               .external_id = launch.external_id};
    struct text *row = trace_batch_row(&log->kernel, log->context, k->start_ns);
    refs.detail_correlation = detail_of(log, k, refs.kernel_id, &launch);
    row_kernel(row, log->kernel.base_ns, k, refs);
    name_times_add(log->kernel_times, refs.kernel_id, k->end_ns - k->start_ns);
    log->kernels++;
    log->unnamed += trace_names_is_other(&log->names, refs.kernel_id);
    log->externals += launch.external_kind != 0;
    log->stacks += launch.stack_id != 0;
}

static void on_copy(void *arg, const struct trace_copy *c)
{
    struct trace_log *log = arg;
    struct text *row = trace_batch_row(&log->copy, log->context, c->start_ns);
    row_copy(row, log->copy.base_ns, c, device_id(log, c->device),
             launches_find(&log->launches, c->correlation).instance);
    log->copies++;
}

static void on_set(void *arg, const struct trace_set *s)
{
    struct trace_log *log = arg;
    struct text *row = trace_batch_row(&log->set, log->context, s->start_ns);
    row_set(row, log->set.base_ns, s, device_id(log, s->device),
            launches_find(&log->launches, s->correlation).instance);
    log->sets++;
}

static void note_wait(struct trace_log *log, const struct row *row)
{
    struct trace_wait wait = {.start_ns = row->mono_ns - (int64_t)row->value,
                              .end_ns = row->mono_ns,
                              .type = row->type,
                              .correlation = row->name_id,
                              .context = row->context,
                              .stream = row->stream,
                              .event = row->event};
    if (row->stack_id) {
        trace_log_learn(log);
        log->stacks++;
    }
    struct text *out = trace_batch_row(&log->wait, log->context, wait.start_ns);
    row_wait(out, log->wait.base_ns, &wait, stack_function(log, row->stack_id));
    log->waits++;
}

void trace_log_row(struct trace_log *log, const struct row *row, uint32_t path_id)
{
    if (row->kind == ROW_WAIT) {
        note_wait(log, row);
    } else if (row->kind == ROW_CALL) {
        launches_call(&log->launches, row, path_id);
    }
}

static void on_allocation(void *arg, const struct trace_memory *m)
{
    struct trace_log *log = arg;
    struct text *row = trace_batch_row(&log->memory, log->context, m->at_ns);
    row_allocation(row, log->memory.base_ns, m, device_id(log, m->device));
    log->memories++;
}

static void on_graph(void *arg, const struct trace_graph *g)
{
    struct trace_log *log = arg;
    struct trace_graph graph = *g;
    graph.device = device_id(log, g->device);
    record_graph_launch(&log->scope_lines, log->context, &graph);
    log->graphs++;
}

static void on_sample(void *arg, const struct trace_sample *s)
{
    struct trace_log *log = arg;
    uint64_t overflowed = trace_names_overflowed(&log->names);
    struct sample_refs refs = {
        .function_id = trace_names_function(&log->names, s->symbol, s->file),
        .metric_id = trace_names_metric(&log->names, s->stall_name),
        .file_id = s->file ? trace_names_file(&log->names, s->file) : 0,
        .device = device_id(log, s->device)};
    struct text *row = trace_batch_row(&log->sample, log->context, s->at_ns);
    row_sample(row, log->sample.base_ns, s, refs);
    log->samples += s->samples;
    if (trace_names_overflowed(&log->names) != overflowed || !refs.function_id ||
        !refs.metric_id || (s->line && !refs.file_id)) {
        log->samples_unnamed += s->samples;
    }
}

struct tracer_sink trace_log_sink(struct trace_log *log)
{
    return (struct tracer_sink){.arg = log,
                                .kernel = on_kernel,
                                .copy = on_copy,
                                .set = on_set,
                                .memory = on_allocation,
                                .graph = on_graph,
                                .sample = on_sample};
}

/* One byte more than is taken tells whether there is more. */
static void take_text(struct trace_log *log, uint32_t id, int fd)
{
    char *bytes = malloc(SOURCE_MAX_BYTES + 1);
    ssize_t len = bytes ? read(fd, bytes, SOURCE_MAX_BYTES + 1) : 0;
    if (len > 0) {
        bool cut = len > SOURCE_MAX_BYTES;
        record_source(&log->sass_lines, log->context, id, bytes, (size_t)len - cut);
        trace_names_use_source(&log->names, id);
        log->files++;
        log->files_cut += cut;
    }
    free(bytes);
}

/* Writes a source file that samples refer to, if it can and may be read here. */
static void write_source(void *arg)
{
    struct trace_log *log = arg;
    const uint32_t id = ++log->files_sent;
    struct own_fd file;
    switch (source_roots_open(log->source, log->names.files->name[id], &file)) {
    case SOURCE_FILE_OPENED:
        take_text(log, id, file.fd);
        own_fd_close(&file);
        break;
    case SOURCE_FILE_OUTSIDE:
        log->files_outside++;
        break;
    case SOURCE_FILE_NONE:
        break;
    }
}

void trace_log_finish(struct trace_log *log)
{
    trace_batch_end(&log->kernel, log->context);
    trace_batch_end(&log->copy, log->context);
    trace_batch_end(&log->set, log->context);
    trace_batch_end(&log->wait, log->context);
    trace_batch_end(&log->memory, log->context);
    trace_batch_end(&log->sample, log->context);
    while (log->source && log->files_sent < log->names.files->count) {
        files_thread_do(write_source, log);
    }
}
