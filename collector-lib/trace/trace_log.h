/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the records of a tracer into lines: batches, dictionaries, and one detail for
 * each configuration. Used by the writer's thread alone. */
#ifndef GPUFL_COLLECTOR_TRACE_TRACE_LOG_H
#define GPUFL_COLLECTOR_TRACE_TRACE_LOG_H

#include "collector-lib/core/name_times.h"
#include "collector-lib/core/record_parts.h"
#include "collector-lib/core/source_roots.h"
#include "collector-lib/trace/kernel_configs.h"
#include "collector-lib/trace/launches.h"
#include "collector-lib/trace/stack_names.h"
#include "collector-lib/trace/trace_batch.h"
#include "collector-lib/trace/trace_devices.h"
#include "collector-lib/trace/trace_names.h"
#include "collector-lib/trace/tracer.h"

struct trace_log {
    const struct record_context *context;
    struct name_times *kernel_times;
    const struct source_roots *source; /* of texts; NULL = none are wanted */
    bool details_per_launch;           /* else one for all launches alike */
    struct launches launches;
    struct trace_names names;
    struct stack_names stack_names;
    uint32_t *stack_function; /* ids on the wire, by stack id; NULL until needed */
    struct text stack;        /* of one call */
    struct kernel_configs configs;
    struct trace_devices devices;
    struct trace_batch kernel, copy, set, wait, memory, sample;
    uint64_t kernels, copies, sets, waits, memories, graphs, samples;
    uint64_t unnamed; /* kernels whose name found no room */
    uint64_t samples_unnamed;
    uint64_t externals;     /* kernels with an id that a framework pushed */
    uint64_t stacks;        /* kernels and waits with a stack */
    uint64_t files;         /* files whose text was written */
    uint64_t files_cut;     /* of these */
    uint64_t files_outside; /* which lie below no root */
    uint32_t files_sent;
    /* Lines to be written, once each channel has the names. */
    struct text device_lines, scope_lines, sass_lines;
};

/** The durations of kernels are added to \p kernel_times; \p source outlives the log,
 * NULL = no texts of source files; the caller has set `devices`
 * and `details_per_launch`.
 * False without memory. Release with trace_log_fini. */
bool trace_log_init(struct trace_log *log, const struct record_context *context,
                    struct name_times *kernel_times, const struct source_roots *source);
void trace_log_fini(struct trace_log *log);

/** Resolves new stacks. To be called before records are delivered. */
void trace_log_learn(struct trace_log *log);

/** Readers may lack lines: writes all details again. */
void trace_log_rewind(struct trace_log *log);

/** Takes a call or wait of the job's threads; \p path_id is that of its scope. */
void trace_log_row(struct trace_log *log, const struct row *row, uint32_t path_id);

/** The functions to which a tracer delivers. */
struct tracer_sink trace_log_sink(struct trace_log *log);

/** Ends the batches. The caller writes the new names, then the lines, and clears them. */
void trace_log_finish(struct trace_log *log);

#endif
