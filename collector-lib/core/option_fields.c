/* SPDX-License-Identifier: Apache-2.0 */
/* Sets options from a table with one row for each field. */
#include "collector-lib/core/option_fields.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/nearest.h"
#include "base/parse_bool.h"
#include "collector-lib/core/library_log.h"

enum kind { KIND_TEXT, KIND_INT, KIND_BOOL, KIND_BACKEND, KIND_ENGINE };

struct field {
    const char *key;
    const char *env;
    enum kind kind;
    size_t at;
};

#define FIELD(name, env, kind)                                                           \
    {                                                                                    \
#name, env, kind, offsetof(struct gpufl_init_options, name)                      \
    }

static const struct field fields[] = {
    FIELD(app_name, "GPUFL_APP_NAME", KIND_TEXT),
    FIELD(log_path, "GPUFL_LOG_DIR", KIND_TEXT),
    FIELD(backend_url, "GPUFL_BACKEND_URL", KIND_TEXT),
    FIELD(api_key, "GPUFL_API_KEY", KIND_TEXT),
    FIELD(api_path, "GPUFL_API_PATH", KIND_TEXT),
    FIELD(remote_upload, "GPUFL_REMOTE_UPLOAD", KIND_BOOL),
    FIELD(enable_stack_trace, NULL, KIND_BOOL),
    FIELD(enable_source_collection, NULL, KIND_BOOL),
    FIELD(enable_external_correlation, NULL, KIND_BOOL),
    FIELD(enable_synchronization, NULL, KIND_BOOL),
    FIELD(enable_memory_tracking, NULL, KIND_BOOL),
    FIELD(enable_cuda_graphs_tracking, NULL, KIND_BOOL),
    FIELD(system_sample_rate_ms, "GPUFL_SYSTEM_SAMPLE_RATE_MS", KIND_INT),
    FIELD(kernel_sample_rate_ms, NULL, KIND_INT),
    FIELD(continuous_system_sampling, NULL, KIND_BOOL),
    FIELD(backend, NULL, KIND_BACKEND),
    FIELD(profiling_engine, "GPUFL_PROFILING_ENGINE", KIND_ENGINE),
    FIELD(config_file, "GPUFL_CONFIG_FILE", KIND_TEXT),
    FIELD(flush_logs_always, "GPUFL_FLUSH_LOGS_ALWAYS", KIND_BOOL),
    FIELD(enable_debug_output, "GPUFL_DEBUG", KIND_BOOL),
    FIELD(enabled, NULL, KIND_BOOL),
    FIELD(pm_sampling_interval_us, NULL, KIND_INT),
    FIELD(pm_sampling_max_samples, NULL, KIND_INT),
    FIELD(pm_sampling_preset, NULL, KIND_TEXT),
    FIELD(pm_sampling_metrics, NULL, KIND_TEXT),
    FIELD(pm_sampling_scope_only, NULL, KIND_BOOL),
    FIELD(deep_window_only, NULL, KIND_BOOL),
    FIELD(simulated_gpus, "GPUFL_SIMULATED_GPUS", KIND_INT),
    FIELD(device_details, "GPUFL_DEVICE_DETAILS", KIND_BOOL),
    FIELD(kernel_details, "GPUFL_KERNEL_DETAILS", KIND_TEXT),
    FIELD(trace_buffer_kib, "GPUFL_TRACE_BUFFER_KIB", KIND_INT),
};
#define FIELDS (sizeof fields / sizeof fields[0])

const char *const option_engine_name[OPTION_ENGINES] = {
    "Monitor",       "Trace", "PcSampling", "SassMetrics",
    "RangeProfiler", "Deep",  "PmSampling", "RangeProfilerKernelReplay",
};

static void *field_at(struct gpufl_init_options *options, const struct field *field)
{
    return (char *)options + field->at;
}

static size_t field_size(enum kind kind)
{
    switch (kind) {
    case KIND_TEXT:
        return sizeof(char *);
    case KIND_BOOL:
        return sizeof(bool);
    case KIND_BACKEND:
        return sizeof(enum gpufl_backend_kind);
    case KIND_ENGINE:
        return sizeof(enum gpufl_profiling_engine);
    case KIND_INT:
        break;
    }
    return sizeof(int);
}

static bool field_same(const struct field *field, const void *left, const void *right)
{
    if (field->kind == KIND_TEXT) {
        const char *a = *(const char *const *)left;
        const char *b = *(const char *const *)right;
        return strcmp(a ? a : "", b ? b : "") == 0;
    }
    return memcmp(left, right, field_size(field->kind)) == 0;
}

void option_fields_take_whole(struct gpufl_init_options *into,
                              const struct gpufl_init_options *given)
{
    for (size_t i = 0; i < FIELDS; i++) {
        size_t size = field_size(fields[i].kind);
        if (fields[i].at + size <= given->struct_size) {
            memcpy(field_at(into, &fields[i]), (const char *)given + fields[i].at, size);
        }
    }
}

void option_fields_take_code(struct gpufl_init_options *into,
                             const struct gpufl_init_options *given)
{
    struct gpufl_init_options defaults = GPUFL_INIT_OPTIONS_DEFAULT;
    struct gpufl_init_options copy = *given;
    for (size_t i = 0; i < FIELDS; i++) {
        void *value = field_at(&copy, &fields[i]);
        if (!field_same(&fields[i], value, field_at(&defaults, &fields[i]))) {
            memcpy(field_at(into, &fields[i]), value, field_size(fields[i].kind));
        }
    }
}

static bool parse_whole_int(const char *text, int *out)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < INT_MIN || value > INT_MAX) {
        return false;
    }
    *out = (int)value;
    return true;
}

static bool parse_choice(const char *text, const char *const *names, size_t count,
                         int *out)
{
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(text, names[i]) == 0) {
            *out = (int)i;
            return true;
        }
    }
    return false;
}

const char *option_fields_engine(const char *name, enum gpufl_profiling_engine *out)
{
    int number;
    if (!parse_choice(name, option_engine_name, OPTION_ENGINES, &number)) {
        return "Monitor, Trace, PcSampling, SassMetrics, RangeProfiler or Deep";
    }
    *out = (enum gpufl_profiling_engine)number;
    return NULL;
}

/* Sets a field from text. \return NULL, or what was expected. */
static const char *set_text(struct gpufl_init_options *into, const struct field *field,
                            const char *text)
{
    static const char *const backends[] = {"Auto", "Nvidia", "Amd", "None"};
    int number = 0;
    switch (field->kind) {
    case KIND_TEXT:
        *(const char **)field_at(into, field) = text;
        return NULL;
    case KIND_BOOL:
        return parse_switch(text, field_at(into, field)) ? NULL : PARSE_SWITCH_WORDS;
    case KIND_INT:
        if (!parse_whole_int(text, &number)) {
            return "a whole number";
        }
        *(int *)field_at(into, field) = number;
        return NULL;
    case KIND_BACKEND:
        if (!parse_choice(text, backends, 4, &number)) {
            return "Auto, Nvidia, Amd or None";
        }
        *(enum gpufl_backend_kind *)field_at(into, field) =
            (enum gpufl_backend_kind)number;
        return NULL;
    case KIND_ENGINE:
        break;
    }
    return option_fields_engine(text,
                                (enum gpufl_profiling_engine *)field_at(into, field));
}

void option_fields_take_env(struct gpufl_init_options *into)
{
    for (size_t i = 0; i < FIELDS; i++) {
        const char *value = fields[i].env ? getenv(fields[i].env) : NULL;
        const char *wanted = value && *value ? set_text(into, &fields[i], value) : NULL;
        if (wanted) {
            library_log(GPUFL_LOG_WARNING, "%s=%s ignored: expected %s", fields[i].env,
                        value, wanted);
        }
    }
}

static bool type_fits(enum kind kind, enum flat_json_kind given)
{
    switch (kind) {
    case KIND_BOOL:
        return given == FLAT_TRUE || given == FLAT_FALSE;
    case KIND_INT:
        return given == FLAT_NUMBER;
    case KIND_TEXT:
    case KIND_BACKEND:
    case KIND_ENGINE:
        break;
    }
    return given == FLAT_STRING;
}

static const char *type_name(enum kind kind)
{
    return kind == KIND_BOOL ? "a boolean" : kind == KIND_INT ? "a number" : "a string";
}

static void report_unknown(const char *path, const char *key)
{
    const char *name[FIELDS];
    for (size_t i = 0; i < FIELDS; i++) {
        name[i] = fields[i].key;
    }
    const char *nearest = nearest_name(key, name, FIELDS);
    library_log(GPUFL_LOG_WARNING, "%s: unknown key \"%s\" ignored%s%s%s", path, key,
                nearest ? " (did you mean \"" : "", nearest ? nearest : "",
                nearest ? "\"?)" : "");
}

void option_fields_take_member(struct gpufl_init_options *into, const char *path,
                               const char *key, enum flat_json_kind kind,
                               const char *value)
{
    for (size_t i = 0; i < FIELDS; i++) {
        if (strcmp(fields[i].key, key) != 0) {
            continue;
        }
        const char *wanted = type_fits(fields[i].kind, kind)
                                 ? set_text(into, &fields[i], value)
                                 : type_name(fields[i].kind);
        if (wanted) {
            library_log(GPUFL_LOG_WARNING, "%s: %s ignored: expected %s", path, key,
                        wanted);
        }
        return;
    }
    if (strcmp(key, "enable_kernel_details") != 0) { /* from older clients, no effect */
        report_unknown(path, key);
    }
}
