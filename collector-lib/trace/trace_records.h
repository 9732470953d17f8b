/* SPDX-License-Identifier: Apache-2.0 */
/* Formats the records of a tracer: rows of batches, and single records. */
#ifndef GPUFL_COLLECTOR_TRACE_TRACE_RECORDS_H
#define GPUFL_COLLECTOR_TRACE_TRACE_RECORDS_H

#include "collector-lib/core/record_parts.h"
#include "collector-lib/trace/occupancy.h"
#include "collector-lib/trace/trace_devices.h"
#include "collector-lib/trace/tracer.h"

/** What a kernel's row refers to. */
struct kernel_refs {
    uint32_t kernel_id;
    uint32_t device;             /**< in the session's table */
    uint32_t detail_correlation; /**< if it is the kernel's own, a detail follows */
    uint64_t scope_instance;
    uint32_t external_kind; /**< of the id that a framework pushed; 0 = none */
    uint64_t external_id;
};

/** What a sample's row refers to; 0 = nothing. */
struct sample_refs {
    uint32_t function_id, metric_id, file_id;
    uint32_t device; /**< in the session's table */
};

/* Rows, with the columns of schema/records.h. \p base_ns is the time of the batch. */
void row_kernel(struct text *out, int64_t base_ns, const struct trace_kernel *kernel,
                struct kernel_refs refs);
void row_copy(struct text *out, int64_t base_ns, const struct trace_copy *copy,
              uint64_t device_id, uint64_t scope_instance_id);
void row_set(struct text *out, int64_t base_ns, const struct trace_set *set,
             uint64_t device_id, uint64_t scope_instance_id);
/** \p function: the id of its stack, 0 = none. */
void row_wait(struct text *out, int64_t base_ns, const struct trace_wait *wait,
              uint32_t function);
void row_allocation(struct text *out, int64_t base_ns, const struct trace_memory *memory,
                    uint64_t device_id);
void row_sample(struct text *out, int64_t base_ns, const struct trace_sample *sample,
                struct sample_refs refs);

/* Records of one line each, which the caller ends for a detail; devices have the
 * session's numbers. */
void record_device(struct text *out, const struct record_context *context,
                   const struct trace_device_known *device);
void record_kernel_detail(struct text *out, const struct record_context *context,
                          const struct trace_kernel *kernel,
                          const struct occupancy *occupancy, const char *user_scope,
                          const char *stack);
void record_graph_launch(struct text *out, const struct record_context *context,
                         const struct trace_graph *graph);
/** The lines of a source file; \p bytes need not end in a newline. */
void record_source(struct text *out, const struct record_context *context,
                   uint32_t file_id, const char *bytes, size_t len);

#endif
