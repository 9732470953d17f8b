/* SPDX-License-Identifier: Apache-2.0 */
/* The dictionaries of a traced session: kernels, functions, stall reasons, source
 * files. Used by the writer's thread alone. */
#ifndef GPUFL_COLLECTOR_TRACE_TRACE_NAMES_H
#define GPUFL_COLLECTOR_TRACE_TRACE_NAMES_H

#include "collector-lib/core/name_set.h"
#include "collector-lib/core/names.h"
#include "collector-lib/core/record_dictionary.h"

#define TRACE_NAMES_CACHE 8192u

/** How many names of each dictionary a reader has. */
struct trace_names_sent {
    uint32_t kernels, functions, metrics, files;
};

#define TRACE_NAMES_PARTS 5

/** The names that lines use which are not written yet. */
struct trace_uses {
    struct name_set kernels, functions, metrics, files;
    struct name_set sources; /**< files of which the text is among the lines */
};

struct trace_names {
    struct names *symbols; /* mangled; these ids are not in records */
    struct names *kernels;
    struct names *metrics;
    struct names *files;
    /* By symbol id. */
    struct trace_symbol {
        uint32_t kernel_id;
        uint32_t function_id;
    } * symbol;
    size_t symbol_cap;
    /* By function id. */
    const char **function;        /* `demangled@file`, or a call stack; ours */
    const char **function_symbol; /* NULL of a stack */
    uint32_t functions;
    size_t function_cap, function_symbol_cap;
    struct trace_uses uses;
    /* CUPTI gives equal kernels equal pointers. */
    struct {
        const char *pointer;
        uint32_t symbol_id;
    } cache[TRACE_NAMES_CACHE];
};

/** False without memory. Release with trace_names_fini. */
bool trace_names_init(struct trace_names *names);
void trace_names_fini(struct trace_names *names);

/** The id in records; 0 without memory. \p file may be NULL. */
uint32_t trace_names_kernel(struct trace_names *names, const char *symbol);
uint32_t trace_names_function(struct trace_names *names, const char *symbol,
                              const char *file);
/** How often a name found no room and became NAMES_OTHER. */
uint64_t trace_names_overflowed(const struct trace_names *names);
/** True if \p kernel_id stands for kernels whose names found no room. */
bool trace_names_is_other(const struct trace_names *names, uint32_t kernel_id);
/** A new id for the call stack \p stack, also if it had one. */
uint32_t trace_names_stack(struct trace_names *names, const char *stack);
uint32_t trace_names_metric(struct trace_names *names, const char *metric);
uint32_t trace_names_file(struct trace_names *names, const char *file);

/** A line uses the call stack \p id, or has the text of the file \p id. The functions
 * above note what they return. */
void trace_names_use_stack(struct trace_names *names, uint32_t id);
void trace_names_use_source(struct trace_names *names, uint32_t id);

/** The lines are written. */
void trace_names_written(struct trace_names *names);

/** How many there are. */
struct trace_names_sent trace_names_count(const struct trace_names *names);

/** Sets \p part to the names that a reader with \p sent lacks. */
void trace_names_parts(const struct trace_names *names,
                       const struct trace_names_sent *sent,
                       struct dictionary_part part[TRACE_NAMES_PARTS]);

#endif
