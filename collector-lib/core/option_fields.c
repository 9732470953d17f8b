/* SPDX-License-Identifier: Apache-2.0 */
/* Sets options from a table with one row for each field. */
#include "collector-lib/core/option_fields.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/message.h"
#include "base/nearest.h"
#include "base/parse_bool.h"
#include "collector-lib/core/library_log.h"

#define EXPECTED_BYTES 120

/* An empty list in the environment is a value, other than an empty text. */
enum kind {
    KIND_TEXT,
    KIND_LIST,
    KIND_WORD,
    KIND_INT,
    KIND_BOOL,
    KIND_BACKEND,
    KIND_ENGINE
};

/* Of an int, the least and the most; of a text, the most bytes, 0 = any number. */
struct field {
    const char *key;
    const char *env;
    enum kind kind;
    size_t at;
    int min, max;
};

#define FIELD_WITHIN(name, env, kind, min, max)                                          \
    {                                                                                    \
#name, env, kind, offsetof(struct gpufl_init_options, name), min, max            \
    }
#define FIELD(name, env, kind) FIELD_WITHIN(name, env, kind, 0, 0)
#define DAY_MS                 86400000

static const struct field fields[] = {
    FIELD_WITHIN(app_name, "GPUFL_APP_NAME", KIND_TEXT, 0, OPTION_APP_NAME_BYTES - 1),
    FIELD_WITHIN(log_path, "GPUFL_LOG_DIR", KIND_TEXT, 0, PATH_MAX - 1),
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
    FIELD_WITHIN(system_sample_rate_ms, "GPUFL_SYSTEM_SAMPLE_RATE_MS", KIND_INT, 0,
                 DAY_MS),
    FIELD_WITHIN(kernel_sample_rate_ms, NULL, KIND_INT, INT_MIN, INT_MAX),
    FIELD(continuous_system_sampling, NULL, KIND_BOOL),
    FIELD(backend, NULL, KIND_BACKEND),
    FIELD(profiling_engine, "GPUFL_PROFILING_ENGINE", KIND_ENGINE),
    FIELD(config_file, "GPUFL_CONFIG_FILE", KIND_TEXT),
    FIELD(flush_logs_always, "GPUFL_FLUSH_LOGS_ALWAYS", KIND_BOOL),
    FIELD(enable_debug_output, "GPUFL_DEBUG", KIND_BOOL),
    FIELD(enabled, NULL, KIND_BOOL),
    FIELD_WITHIN(pm_sampling_interval_us, NULL, KIND_INT, 1, 1000000),
    FIELD_WITHIN(pm_sampling_max_samples, NULL, KIND_INT, 1, 1 << 20),
    FIELD(pm_sampling_preset, NULL, KIND_TEXT),
    FIELD(pm_sampling_metrics, NULL, KIND_TEXT),
    FIELD(pm_sampling_scope_only, NULL, KIND_BOOL),
    FIELD(deep_window_only, NULL, KIND_BOOL),
    FIELD_WITHIN(simulated_gpus, "GPUFL_SIMULATED_GPUS", KIND_INT, 0, 16),
    FIELD(device_details, "GPUFL_DEVICE_DETAILS", KIND_BOOL),
    FIELD(kernel_details, "GPUFL_KERNEL_DETAILS", KIND_WORD),
    /* 64 of the largest are 1 GiB. */
    FIELD_WITHIN(trace_buffer_kib, "GPUFL_TRACE_BUFFER_KIB", KIND_INT, 64, 16384),
    FIELD(source_roots, "GPUFL_SOURCE_ROOTS", KIND_LIST),
    /* With less, samples are lost; CUPTI itself would take 512. */
    FIELD_WITHIN(pc_sampling_buffer_mib, "GPUFL_PC_SAMPLING_BUFFER_MIB", KIND_INT, 16,
                 1024),
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
    case KIND_LIST:
    case KIND_WORD:
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

static bool is_text(const struct field *field)
{
    return field_size(field->kind) == sizeof(char *);
}

static bool field_same(const struct field *field, const void *left, const void *right)
{
    if (is_text(field)) {
        const char *a = *(const char *const *)left;
        const char *b = *(const char *const *)right;
        return strcmp(a ? a : "", b ? b : "") == 0;
    }
    return memcmp(left, right, field_size(field->kind)) == 0;
}

void gpufl_init_options_default(struct gpufl_init_options *options)
{
    *options = (struct gpufl_init_options)GPUFL_INIT_OPTIONS_DEFAULT;
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

bool option_fields_number(const char *text, long long min, long long max, long long *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    bool begins = text[0] == '-' || (text[0] >= '0' && text[0] <= '9');
    if (errno || !begins || end == text || *end || value < min || value > max) {
        return false;
    }
    *out = value;
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

static const char *const backend_name[] = {"Auto", "Nvidia", "Amd", "None"};
#define BACKENDS (sizeof backend_name / sizeof backend_name[0])

bool option_fields_engine(const char *name, enum gpufl_profiling_engine *out)
{
    int number;
    bool known = parse_choice(name, option_engine_name, OPTION_ENGINES, &number);
    if (known) {
        *out = (enum gpufl_profiling_engine)number;
    }
    return known;
}

/* Sets a field from text; false if it is none of what put_expected() says. */
static bool set_text(struct gpufl_init_options *into, const struct field *field,
                     const char *text)
{
    void *at = field_at(into, field);
    int number = 0;
    long long whole;
    switch (field->kind) {
    case KIND_TEXT:
    case KIND_LIST:
    case KIND_WORD:
        if ((field->max && strlen(text) > (size_t)field->max) ||
            (field->kind == KIND_WORD && *text && strcmp(text, OPTION_PER_LAUNCH) != 0)) {
            return false;
        }
        *(const char **)at = text;
        return true;
    case KIND_BOOL:
        return parse_switch(text, at);
    case KIND_INT:
        if (!option_fields_number(text, field->min, field->max, &whole)) {
            return false;
        }
        *(int *)at = (int)whole;
        return true;
    case KIND_BACKEND:
        if (!parse_choice(text, backend_name, BACKENDS, &number)) {
            return false;
        }
        *(enum gpufl_backend_kind *)at = (enum gpufl_backend_kind)number;
        return true;
    case KIND_ENGINE:
        break;
    }
    return option_fields_engine(text, at);
}

static void put_expected(const struct field *field, char out[EXPECTED_BYTES])
{
    const char *words = "";
    switch (field->kind) {
    case KIND_TEXT:
        snprintf(out, EXPECTED_BYTES, "%d bytes at most", field->max);
        return;
    case KIND_INT:
        snprintf(out, EXPECTED_BYTES, "a whole number from %d to %d", field->min,
                 field->max);
        return;
    case KIND_BOOL:
        words = PARSE_SWITCH_WORDS;
        break;
    case KIND_WORD:
        words = OPTION_PER_LAUNCH;
        break;
    case KIND_BACKEND:
        words = "Auto, Nvidia, Amd or None";
        break;
    case KIND_ENGINE:
        words = OPTION_ENGINE_WORDS;
        break;
    case KIND_LIST: /* source_roots_resolve() looks at it */
        break;
    }
    snprintf(out, EXPECTED_BYTES, "%s", words);
}

/* \return whether a value that the program has set in code is one. */
static bool is_in_range(const struct field *field, const void *value)
{
    const char *text;
    switch (field->kind) {
    case KIND_INT:
        return *(const int *)value >= field->min && *(const int *)value <= field->max;
    case KIND_BACKEND:
        return (size_t) * (const enum gpufl_backend_kind *)value < BACKENDS;
    case KIND_ENGINE:
        return (size_t) * (const enum gpufl_profiling_engine *)value < OPTION_ENGINES;
    case KIND_TEXT:
        text = *(const char *const *)value;
        return !field->max || !text || strlen(text) <= (size_t)field->max;
    case KIND_LIST:
    case KIND_WORD:
    case KIND_BOOL:
        break;
    }
    return true;
}

static void refuse_field(const struct field *field, const void *value, char why[256])
{
    char expected[EXPECTED_BYTES];
    put_expected(field, expected);
    if (is_text(field)) {
        snprintf(why, 256, "%s: '%.*s%s' is too long (expected %s)", field->key,
                 MESSAGE_VALUE(*(const char *const *)value, OPTION_SHOWN_BYTES),
                 expected);
    } else { /* of enums, too, what was given is a number */
        snprintf(why, 256, "%s: invalid value %d (expected %s)", field->key,
                 *(const int *)value, expected);
    }
}

gpufl_status option_fields_check(const struct gpufl_init_options *given, char why[256])
{
    struct gpufl_init_options copy = *given;
    for (size_t i = 0; i < FIELDS; i++) {
        const void *value = field_at(&copy, &fields[i]);
        if (!is_in_range(&fields[i], value)) {
            refuse_field(&fields[i], value, why);
            return GPUFL_ERR_USAGE;
        }
    }
    return GPUFL_OK;
}

void option_fields_take_env(struct gpufl_init_options *into)
{
    for (size_t i = 0; i < FIELDS; i++) {
        const char *value = fields[i].env ? getenv(fields[i].env) : NULL;
        bool given = value && (*value || fields[i].kind == KIND_LIST);
        if (given && !set_text(into, &fields[i], value)) {
            char expected[EXPECTED_BYTES];
            put_expected(&fields[i], expected);
            library_log(GPUFL_LOG_WARNING, "%s=%.*s%s ignored: expected %s",
                        fields[i].env, MESSAGE_VALUE(value, OPTION_SHOWN_BYTES),
                        expected);
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
    case KIND_LIST:
    case KIND_WORD:
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
    library_log(GPUFL_LOG_WARNING, "%s: unknown key \"%.*s%s\" ignored%s%s%s", path,
                MESSAGE_VALUE(key, OPTION_SHOWN_BYTES),
                nearest ? " (did you mean \"" : "", nearest ? nearest : "",
                nearest ? "\"?)" : "");
}

static void take_field(struct gpufl_init_options *into, const struct field *field,
                       const char *path, enum flat_json_kind kind, const char *value)
{
    char expected[EXPECTED_BYTES];
    put_expected(field, expected);
    if (field->at == offsetof(struct gpufl_init_options, config_file)) {
        library_log(GPUFL_LOG_WARNING, "%s: %s ignored: a file names no other one", path,
                    field->key);
    } else if (!type_fits(field->kind, kind)) {
        library_log(GPUFL_LOG_WARNING, "%s: %s ignored: expected %s", path, field->key,
                    type_name(field->kind));
    } else if (!set_text(into, field, value)) {
        library_log(GPUFL_LOG_WARNING, "%s: %s: %.*s%s ignored: expected %s", path,
                    field->key, MESSAGE_VALUE(value, OPTION_SHOWN_BYTES), expected);
    }
}

void option_fields_take_member(struct gpufl_init_options *into,
                               struct option_members *members, const char *key,
                               enum flat_json_kind kind, const char *value)
{
    _Static_assert(FIELDS <= 64, "a bit each");
    for (size_t i = 0; i < FIELDS; i++) {
        if (strcmp(fields[i].key, key) != 0) {
            continue;
        }
        if (members->seen >> i & 1) {
            library_log(GPUFL_LOG_WARNING, "%s: %s is there again (the last one counts)",
                        members->path, key);
        }
        members->seen |= (uint64_t)1 << i;
        take_field(into, &fields[i], members->path, kind, value);
        return;
    }
    if (strcmp(key, "enable_kernel_details") != 0) { /* from older clients, no effect */
        report_unknown(members->path, key);
    }
}
