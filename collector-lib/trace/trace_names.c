/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers kernels, functions, stall reasons and source files for the wire. */
#include "collector-lib/trace/trace_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collector-lib/trace/demangle.h"
#include "schema/records.h"

bool trace_names_init(struct trace_names *n)
{
    n->symbols = names_new();
    n->kernels = names_new();
    n->metrics = names_new();
    n->files = names_new();
    if (!n->symbols || !n->kernels || !n->metrics || !n->files) {
        trace_names_fini(n);
        return false;
    }
    free(demangle("_Z1fv")); /* looks up the demangler now: later a thread that waits for
                                us may hold the loader's lock */
    return true;
}

void trace_names_fini(struct trace_names *n)
{
    names_free(n->symbols);
    names_free(n->kernels);
    names_free(n->metrics);
    names_free(n->files);
    for (uint32_t id = 1; id <= n->functions; id++) {
        free((char *)n->function[id]);
    }
    name_set_fini(&n->uses.kernels);
    name_set_fini(&n->uses.functions);
    name_set_fini(&n->uses.metrics);
    name_set_fini(&n->uses.files);
    name_set_fini(&n->uses.sources);
    free(n->function);
    free(n->function_symbol);
    free(n->symbol);
    memset(n, 0, sizeof *n);
}

static uint32_t intern_text(struct names *names, const char *text)
{
    size_t len;
    const char *stored;
    uint64_t hash = names_hash(text, SIZE_MAX, &len);
    return names_intern(names, text, hash, len, &stored);
}

/* After a module was unloaded, a pointer may have another text, so it is compared. */
static uint32_t symbol_id(struct trace_names *n, const char *symbol)
{
    size_t at = ((uintptr_t)symbol >> 4) % TRACE_NAMES_CACHE;
    uint32_t id = n->cache[at].pointer == symbol ? n->cache[at].symbol_id : 0;
    if (id && strcmp(n->symbols->name[id], symbol) == 0) {
        return id;
    }
    id = intern_text(n->symbols, symbol);
    void *grown =
        id ? array_reach(n->symbol, id, &n->symbol_cap, sizeof *n->symbol) : NULL;
    if (!grown) {
        return 0;
    }
    n->symbol = grown;
    n->cache[at].pointer = symbol;
    n->cache[at].symbol_id = id;
    return id;
}

uint64_t trace_names_overflowed(const struct trace_names *n)
{
    return atomic_load_explicit(&n->symbols->overflowed, memory_order_relaxed) +
           atomic_load_explicit(&n->metrics->overflowed, memory_order_relaxed) +
           atomic_load_explicit(&n->files->overflowed, memory_order_relaxed);
}

static uint32_t trace_name_used(struct name_set *uses, uint32_t id)
{
    if (id) {
        name_set_add(uses, id);
    }
    return id;
}

uint32_t trace_names_kernel(struct trace_names *n, const char *symbol)
{
    uint32_t id = symbol_id(n, symbol);
    if (!id) {
        return 0;
    }
    if (!n->symbol[id].kernel_id) {
        char *text = demangle(n->symbols->name[id]);
        n->symbol[id].kernel_id = text ? intern_text(n->kernels, text) : 0;
        free(text);
    }
    return trace_name_used(&n->uses.kernels, n->symbol[id].kernel_id);
}

bool trace_names_is_other(const struct trace_names *n, uint32_t kernel_id)
{
    return kernel_id && strcmp(n->kernels->name[kernel_id], NAMES_OTHER) == 0;
}

/* Room for the element \p at. */
static bool reach_text(const char ***array, size_t *cap, size_t at)
{
    const char **grown = array_reach((void *)*array, at, cap, sizeof *grown);
    *array = grown ? grown : *array;
    return grown != NULL;
}

/* Takes \p text, NULL without memory. */
static uint32_t add_function(struct trace_names *n, char *text, const char *symbol)
{
    uint32_t id = n->functions + 1;
    if (!text || !reach_text(&n->function, &n->function_cap, id) ||
        !reach_text(&n->function_symbol, &n->function_symbol_cap, id)) {
        free(text);
        return 0;
    }
    n->functions = id;
    n->function[id] = text;
    n->function_symbol[id] = symbol;
    return id;
}

static char *function_text(const char *symbol, const char *file)
{
    char *demangled = demangle(symbol);
    char *text = NULL;
    if (demangled && asprintf(&text, "%s@%s", demangled, file ? file : "") < 0) {
        text = NULL;
    }
    free(demangled);
    return text;
}

uint32_t trace_names_function(struct trace_names *n, const char *symbol, const char *file)
{
    uint32_t id = symbol_id(n, symbol);
    if (!id) {
        return 0;
    }
    if (!n->symbol[id].function_id) {
        const char *stored = n->symbols->name[id];
        n->symbol[id].function_id = add_function(n, function_text(stored, file), stored);
    }
    return trace_name_used(&n->uses.functions, n->symbol[id].function_id);
}

uint32_t trace_names_stack(struct trace_names *n, const char *stack)
{
    return add_function(n, strdup(stack), NULL);
}

uint32_t trace_names_metric(struct trace_names *n, const char *metric)
{
    return trace_name_used(&n->uses.metrics, intern_text(n->metrics, metric));
}

uint32_t trace_names_file(struct trace_names *n, const char *file)
{
    return trace_name_used(&n->uses.files, intern_text(n->files, file));
}

void trace_names_use_stack(struct trace_names *n, uint32_t id)
{
    trace_name_used(&n->uses.functions, id);
}

void trace_names_use_source(struct trace_names *n, uint32_t id)
{
    trace_name_used(&n->uses.sources, id);
}

void trace_names_written(struct trace_names *n)
{
    name_set_clear(&n->uses.kernels);
    name_set_clear(&n->uses.functions);
    name_set_clear(&n->uses.metrics);
    name_set_clear(&n->uses.files);
    name_set_clear(&n->uses.sources);
}

struct trace_names_sent trace_names_count(const struct trace_names *n)
{
    return (struct trace_names_sent){.kernels = n->kernels->count,
                                     .functions = n->functions,
                                     .metrics = n->metrics->count,
                                     .files = n->files->count};
}

void trace_names_parts(const struct trace_names *n, const struct trace_names_sent *sent,
                       struct dictionary_part part[TRACE_NAMES_PARTS])
{
    const struct trace_names_sent all = trace_names_count(n);
    const struct dictionary_part found[TRACE_NAMES_PARTS] = {
        {RECORD_KERNEL_DICT, n->kernels->name, sent->kernels, all.kernels, NULL},
        {RECORD_FUNCTION_DICT, n->function, sent->functions, all.functions, NULL},
        {RECORD_METRIC_DICT, n->metrics->name, sent->metrics, all.metrics, NULL},
        {RECORD_SOURCE_FILE_DICT, n->files->name, sent->files, all.files, NULL},
        {RECORD_FUNCTION_SYMBOL_DICT, n->function_symbol, sent->functions, all.functions,
         NULL},
    };
    memcpy(part, found, sizeof found);
}
