/* SPDX-License-Identifier: Apache-2.0 */
#include "collector-lib/trace/trace_log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "collector-lib/core/record_parts.h"
#include "collector-lib/trace/trace_records.h"
#include "schema/records.h"

#define CONFIGS_SLOTS    65536u
#define CONFIGS_MAX      (CONFIGS_SLOTS / 2)
#define SOURCE_MAX_BYTES (1u << 20)

/* What a kernel_detail says that a row does not. */
struct trace_config {
    struct {
        uint32_t kernel_id, device, path_id, stack_id, registers;
        uint32_t static_shared, dynamic_shared;
        int32_t grid[3], block[3];
    } key;
    uint32_t correlation; /* whose detail it is; 0 = free */
};

bool trace_log_init(struct trace_log *log, const struct record_context *context,
                    struct summary *summary, bool source)
{
    log->context = context;
    log->summary = summary;
    log->source = source;
    log->config = calloc(CONFIGS_SLOTS, sizeof *log->config);
    if (!log->config || !launches_init(&log->launches) ||
        !trace_names_init(&log->names)) {
        trace_log_fini(log);
        return false;
    }
    return true;
}

void trace_log_fini(struct trace_log *log)
{
    struct trace_batch *batch[] = {&log->kernel, &log->copy, &log->wait, &log->memory,
                                   &log->sample};
    for (size_t i = 0; i < sizeof batch / sizeof batch[0]; i++) {
        text_fini(&batch[i]->rows);
        text_fini(&batch[i]->behind);
    }
    text_fini(&log->names_lines);
    text_fini(&log->device_lines);
    text_fini(&log->scope_lines);
    text_fini(&log->sass_lines);
    text_fini(&log->stack);
    stack_names_fini(&log->stack_names);
    free(log->stack_function);
    launches_fini(&log->launches);
    trace_names_fini(&log->names);
    free(log->config);
    memset(log, 0, sizeof *log);
}

static void forget_configs(struct trace_log *log)
{
    if (log->config) {
        memset(log->config, 0, CONFIGS_SLOTS * sizeof *log->config);
    }
    log->configs = 0;
}

void trace_log_learn(struct trace_log *log)
{
    stack_names_learn(&log->stack_names);
}

void trace_log_rewind(struct trace_log *log)
{
    trace_names_rewind(&log->names);
    forget_configs(log);
}

/* ---- batches ---- */

static void end_batch(struct trace_log *log, struct trace_batch *b, const char *type,
                      const char *columns, struct text *lines)
{
    if (b->count == 0) {
        return;
    }
    record_begin(lines, log->context, 1, type);
    record_open_rows(lines, log->context, ++b->id, b->base_ns, columns);
    text_append(lines, b->rows.data, b->rows.len);
    text_puts(lines, "]}\n");
    if (b->behind.len) {
        text_append(lines, b->behind.data, b->behind.len);
    }
    text_clear(&b->rows);
    text_clear(&b->behind);
    b->count = 0;
}

static void end_kernels(struct trace_log *log)
{
    end_batch(log, &log->kernel, RECORD_KERNELS, RECORD_KERNEL_COLUMNS,
              &log->device_lines);
}

static void end_copies(struct trace_log *log)
{
    end_batch(log, &log->copy, RECORD_COPIES, RECORD_COPY_COLUMNS, &log->device_lines);
}

static void end_waits(struct trace_log *log)
{
    end_batch(log, &log->wait, RECORD_WAITS, RECORD_WAIT_COLUMNS, &log->scope_lines);
}

static void end_memory(struct trace_log *log)
{
    end_batch(log, &log->memory, RECORD_ALLOCATIONS, RECORD_ALLOCATION_COLUMNS,
              &log->scope_lines);
}

static void end_samples(struct trace_log *log)
{
    end_batch(log, &log->sample, RECORD_SAMPLES, RECORD_SAMPLE_COLUMNS,
              &log->scope_lines);
}

/* Room for one more row, \p end having closed a full batch. */
static struct text *next_row(struct trace_log *log, struct trace_batch *b, int64_t at_ns,
                             void (*end)(struct trace_log *))
{
    if (b->count == RECORD_MAX_ROWS) {
        end(log);
    }
    if (b->count++ == 0) {
        b->base_ns = at_ns;
    } else {
        text_append(&b->rows, ",", 1);
    }
    return &b->rows;
}

/* ---- stacks ---- */

/* "" for none; until the next call. */
static const char *stack_text(struct trace_log *log, uint32_t stack_id)
{
    text_clear(&log->stack);
    stack_names_text(&log->stack_names, stack_id, &log->stack);
    text_append(&log->stack, "", 1);
    return log->stack.failed ? "" : log->stack.data;
}

/* Its id in the dictionary of functions; 0 for none. */
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
    return *id;
}

/* ---- kernels ---- */

static const struct trace_device *device_of(const struct trace_log *log, uint32_t id)
{
    for (unsigned i = 0; i < log->devices; i++) {
        if (log->device[i].id == id) {
            return &log->device[i];
        }
    }
    return NULL;
}

static void on_device(void *arg, const struct trace_device *device)
{
    struct trace_log *log = arg;
    if (!device_of(log, device->id) && log->devices < TRACE_LOG_DEVICES) {
        log->device[log->devices++] = *device;
    }
}

/* The slot of \p key, free or taken; forgets all when too many are taken. */
static struct trace_config *config_slot(struct trace_log *log,
                                        const struct trace_config *wanted)
{
    uint64_t hash = HASH64_BASIS;
    const uint32_t *word = (const uint32_t *)&wanted->key;
    for (size_t i = 0; i < sizeof wanted->key / sizeof *word; i++) {
        hash = hash64_word(hash, word[i]);
    }
    if (log->configs >= CONFIGS_MAX) {
        forget_configs(log);
    }
    size_t at = (size_t)(hash ^ (hash >> 32)) % CONFIGS_SLOTS;
    while (log->config[at].correlation &&
           memcmp(&log->config[at].key, &wanted->key, sizeof wanted->key) != 0) {
        at = (at + 1) % CONFIGS_SLOTS;
    }
    return &log->config[at];
}

/* The correlation id of the launch whose detail describes \p k; writes that of a new one
 * behind the batch. */
static uint32_t detail_of(struct trace_log *log, const struct trace_kernel *k,
                          uint32_t kernel_id, const struct launch *launch)
{
    struct trace_config wanted = {
        .key = {.kernel_id = kernel_id,
                .device = k->device,
                .path_id = launch->path_id,
                .stack_id = launch->stack_id,
                .registers = k->registers,
                .static_shared = k->static_shared_bytes,
                .dynamic_shared = k->dynamic_shared_bytes,
                .grid = {k->grid[0], k->grid[1], k->grid[2]},
                .block = {k->block[0], k->block[1], k->block[2]}},
        .correlation = k->correlation ? k->correlation : 1};
    struct trace_config *config = config_slot(log, &wanted);
    if (!config->correlation) {
        struct occupancy o = occupancy_of(device_of(log, k->device), k);
        *config = wanted;
        log->configs++;
        record_kernel_detail(&log->kernel.behind, log->context, k, &o,
                             launches_path(&log->launches, launch->path_id),
                             stack_text(log, launch->stack_id));
    }
    return config->correlation;
}

static void on_kernel(void *arg, const struct trace_kernel *k)
{
    struct trace_log *log = arg;
    struct launch launch = launches_find(&log->launches, k->correlation);
    struct kernel_refs refs = {.kernel_id = trace_names_kernel(&log->names, k->symbol),
                               .scope_instance = launch.instance,
                               .external_kind = launch.external_kind,
                               .external_id = launch.external_id};
    struct text *row = next_row(log, &log->kernel, k->start_ns, end_kernels);
    refs.detail_correlation = detail_of(log, k, refs.kernel_id, &launch);
    row_kernel(row, log->kernel.base_ns, k, refs);
    summary_kernel(log->summary, refs.kernel_id, k->end_ns - k->start_ns);
    log->kernels++;
    log->externals += launch.external_kind != 0;
    log->stacks += launch.stack_id != 0;
}

/* ---- the rest ---- */

static void on_copy(void *arg, const struct trace_copy *c)
{
    struct trace_log *log = arg;
    struct text *row = next_row(log, &log->copy, c->start_ns, end_copies);
    row_copy(row, log->copy.base_ns, c,
             launches_find(&log->launches, c->correlation).instance);
    log->copies++;
}

static void on_set(void *arg, const struct trace_set *s)
{
    struct trace_log *log = arg;
    struct launch launch = launches_find(&log->launches, s->correlation);
    record_memset(&log->device_lines, log->context, s,
                  launches_path(&log->launches, launch.path_id), launch.depth);
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
    struct text *out = next_row(log, &log->wait, wait.start_ns, end_waits);
    row_wait(out, log->wait.base_ns, &wait, stack_function(log, row->stack_id));
    log->waits++;
}

void trace_log_row(struct trace_log *log, const struct row *row,
                   const struct names *names)
{
    if (row->kind == ROW_WAIT) {
        note_wait(log, row);
    } else {
        launches_row(&log->launches, row, names);
    }
}

static void on_memory(void *arg, const struct trace_memory *m)
{
    struct trace_log *log = arg;
    struct text *row = next_row(log, &log->memory, m->at_ns, end_memory);
    row_allocation(row, log->memory.base_ns, m);
    log->memories++;
}

static void on_graph(void *arg, const struct trace_graph *g)
{
    struct trace_log *log = arg;
    record_graph_launch(&log->scope_lines, log->context, g);
    log->graphs++;
}

static void on_sample(void *arg, const struct trace_sample *s)
{
    struct trace_log *log = arg;
    uint32_t function = trace_names_function(&log->names, s->symbol, s->file);
    uint32_t metric = trace_names_metric(&log->names, s->stall_name);
    uint32_t file = s->file ? trace_names_file(&log->names, s->file) : 0;
    struct text *row = next_row(log, &log->sample, s->at_ns, end_samples);
    row_sample(row, log->sample.base_ns, s, function, metric, file);
    log->samples += s->samples;
}

struct tracer_sink trace_log_sink(struct trace_log *log)
{
    return (struct tracer_sink){.arg = log,
                                .device = on_device,
                                .kernel = on_kernel,
                                .copy = on_copy,
                                .set = on_set,
                                .memory = on_memory,
                                .graph = on_graph,
                                .sample = on_sample};
}

/* The text of a source file that samples name, once, if it can be read here. */
static void write_source(struct trace_log *log, uint32_t id)
{
    struct stat about;
    int fd = open(log->names.files->name[id], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    bool regular = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    char *bytes = regular ? malloc(SOURCE_MAX_BYTES) : NULL;
    ssize_t len = bytes ? read(fd, bytes, SOURCE_MAX_BYTES) : 0;
    if (len > 0) {
        record_source(&log->sass_lines, log->context, id, bytes, (size_t)len);
        log->files++;
    }
    free(bytes);
    close(fd);
}

void trace_log_finish(struct trace_log *log)
{
    end_kernels(log);
    end_copies(log);
    end_waits(log);
    end_memory(log);
    end_samples(log);
    trace_names_write(&log->names, log->context, &log->names_lines);
    while (log->source && log->files_sent < log->names.files->count) {
        write_source(log, ++log->files_sent);
    }
}
