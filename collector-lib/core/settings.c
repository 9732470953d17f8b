/* SPDX-License-Identifier: Apache-2.0 */
/* Joins options, environment and file, and checks the ranges. */
#include "collector-lib/core/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse_bool.h"
#include "collector-lib/core/config_file.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/option_fields.h"

#define SAMPLE_RATE_MAX_MS 86400000
/* 64 of the largest are 1 GiB. */
#define TRACE_BUFFER_MIN_KIB 64
#define TRACE_BUFFER_MAX_KIB 16384

bool settings_disabled_by_env(void)
{
    return parse_bool(getenv("GPUFL_DISABLED"));
}

static void say_no_switch(const char *name)
{
    const char *value = getenv(name);
    bool on;
    if (value && *value && !parse_switch(value, &on)) {
        library_log(GPUFL_LOG_WARNING, "%s=%s ignored: expected " PARSE_SWITCH_WORDS,
                    name, value);
    }
}

const char *settings_engine_name(enum gpufl_profiling_engine engine)
{
    return (unsigned)engine < OPTION_ENGINES ? option_engine_name[engine] : "?";
}

/* A whole decimal number in [min, max]; anything else is reported and ignored. */
static bool env_number(const char *name, uint64_t min, uint64_t max, uint64_t *out)
{
    const char *value = getenv(name);
    if (!value || !*value) {
        return false;
    }
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (errno || *end || value[0] < '0' || value[0] > '9' || number < min ||
        number > max) {
        library_log(GPUFL_LOG_WARNING,
                    "%s=%s ignored: expected a number from %llu to %llu", name, value,
                    (unsigned long long)min, (unsigned long long)max);
        return false;
    }
    *out = number;
    return true;
}

static gpufl_status refuse_int(char why[256], const char *field, int value, int min,
                               int max)
{
    snprintf(why, 256, "%s: invalid value %d (expected %d to %d)", field, value, min,
             max);
    return GPUFL_ERR_USAGE;
}

static gpufl_status check_ranges(const struct gpufl_init_options *o, char why[256])
{
    if (o->system_sample_rate_ms < 0 || o->system_sample_rate_ms > SAMPLE_RATE_MAX_MS) {
        return refuse_int(why, "system_sample_rate_ms", o->system_sample_rate_ms, 0,
                          SAMPLE_RATE_MAX_MS);
    }
    if ((unsigned)o->backend > GPUFL_BACKEND_NONE) {
        return refuse_int(why, "backend", (int)o->backend, 0, GPUFL_BACKEND_NONE);
    }
    if ((unsigned)o->profiling_engine >= OPTION_ENGINES) {
        return refuse_int(why, "profiling_engine", (int)o->profiling_engine, 0,
                          OPTION_ENGINES - 1);
    }
    if (o->simulated_gpus < 0 || o->simulated_gpus > 16) {
        return refuse_int(why, "simulated_gpus", o->simulated_gpus, 0, 16);
    }
    if (o->trace_buffer_kib < TRACE_BUFFER_MIN_KIB ||
        o->trace_buffer_kib > TRACE_BUFFER_MAX_KIB) {
        return refuse_int(why, "trace_buffer_kib", o->trace_buffer_kib,
                          TRACE_BUFFER_MIN_KIB, TRACE_BUFFER_MAX_KIB);
    }
    return GPUFL_OK;
}

static void warn_deprecated(const struct gpufl_init_options *o)
{
    if (o->remote_upload) {
        library_log(GPUFL_LOG_WARNING,
                    "remote_upload (GPUFL_REMOTE_UPLOAD) is deprecated and has no "
                    "effect: call gpufl_upload_logs() or run gpufl-agent");
    }
}

static gpufl_status copy_string(char *out, size_t size, const char *value,
                                const char *field, char why[256])
{
    size_t len = strlen(value);
    if (len >= size) {
        snprintf(why, 256, "%s: longer than %zu bytes", field, size - 1);
        return GPUFL_ERR_USAGE;
    }
    memcpy(out, value, len + 1);
    return GPUFL_OK;
}

static gpufl_status copy_strings(const struct gpufl_init_options *o, struct settings *out,
                                 char why[256])
{
    const char *app = o->app_name && *o->app_name ? o->app_name : "gpufl";
    const char *path = o->log_path && *o->log_path ? o->log_path : app;
    gpufl_status status =
        copy_string(out->app_name, sizeof out->app_name, app, "app_name", why);
    if (status == GPUFL_OK) {
        status = copy_string(out->log_path, sizeof out->log_path, path, "log_path", why);
    }
    /* The existing clients take `<dir>.log` for `<dir>`. */
    size_t len = strlen(out->log_path);
    if (status == GPUFL_OK && len > 4 && strcmp(out->log_path + len - 4, ".log") == 0) {
        out->log_path[len - 4] = '\0';
    }
    return status;
}

static void env_text(const char *name, char *out, size_t size)
{
    const char *value = getenv(name);
    snprintf(out, size, "%s", value ? value : "");
}

/* A limit that is not understood was meant to limit: Monitor. */
static enum gpufl_profiling_engine max_engine(void)
{
    const char *value = getenv("GPUFL_MAX_ENGINE");
    enum gpufl_profiling_engine max = (enum gpufl_profiling_engine)(OPTION_ENGINES - 1);
    const char *wanted = value && *value ? option_fields_engine(value, &max) : NULL;
    if (wanted) {
        library_log(GPUFL_LOG_WARNING,
                    "GPUFL_MAX_ENGINE=%s: expected %s; Monitor is taken", value, wanted);
        max = GPUFL_ENGINE_MONITOR;
    }
    return max;
}

/* A word that is not known costs the job details, and not its session. */
static bool is_per_launch(const char *details)
{
    bool per_launch = details && strcmp(details, "per_launch") == 0;
    if (details && *details && !per_launch) {
        library_log(
            GPUFL_LOG_WARNING,
            "kernel_details (GPUFL_KERNEL_DETAILS): %s ignored: expected per_launch",
            details);
    }
    return per_launch;
}

static void copy_values(const struct gpufl_init_options *o, struct settings *out)
{
    out->sample_rate_ms = o->system_sample_rate_ms;
    out->continuous = o->continuous_system_sampling;
    out->backend = o->backend;
    out->engine = o->profiling_engine;
    out->max_engine = max_engine();
    out->stack_trace = o->enable_stack_trace;
    out->source_collection = o->enable_source_collection;
    out->external_correlation = o->enable_external_correlation;
    out->synchronization = o->enable_synchronization;
    out->memory_tracking = o->enable_memory_tracking;
    out->cuda_graphs = o->enable_cuda_graphs_tracking;
    out->sync_each_write = o->flush_logs_always;
    out->debug = o->enable_debug_output;
    out->simulated_gpus = o->simulated_gpus;
    out->device_details = o->device_details;
    out->trace_buffer_bytes = (size_t)o->trace_buffer_kib << 10;
    out->details_per_launch = is_per_launch(o->kernel_details);
    out->rotate_bytes = SETTINGS_ROTATE_BYTES;
    out->max_spool_bytes = SETTINGS_MAX_SPOOL_BYTES;
    out->min_free_bytes = SETTINGS_MIN_FREE_BYTES;
    env_text("GPUFL_POD_NAME", out->pod.name, sizeof out->pod.name);
    env_text("GPUFL_POD_NAMESPACE", out->pod.name_space, sizeof out->pod.name_space);
    env_text("GPUFL_NODE_NAME", out->pod.node, sizeof out->pod.node);
    env_number("GPUFL_LOG_ROTATE_BYTES", 1, 1ull << 40, &out->rotate_bytes);
    env_number("GPUFL_LOG_ROTATE_AFTER_MS", 0, 1ull << 40, &out->rotate_after_ms);
    env_number("GPUFL_LOG_MAX_SPOOL_BYTES", 0, 1ull << 50, &out->max_spool_bytes);
    env_number("GPUFL_LOG_MIN_FREE_BYTES", 0, 1ull << 50, &out->min_free_bytes);
}

static gpufl_status join_sources(const struct gpufl_init_options *given,
                                 struct config_file *file, struct settings *out,
                                 char why[256])
{
    struct gpufl_init_options *o = &file->options;
    const char *env_path = getenv("GPUFL_CONFIG_FILE");
    bool by_code = given->config_file && *given->config_file;
    file->path = by_code ? given->config_file : env_path;
    config_file_read(file);
    option_fields_take_env(o);
    option_fields_take_code(o, given);
    if (!o->enabled) {
        return GPUFL_OFF;
    }
    gpufl_status status = check_ranges(o, why);
    if (status == GPUFL_OK) {
        memset(out, 0, sizeof *out);
        status = copy_strings(o, out, why);
    }
    if (status == GPUFL_OK) {
        copy_values(o, out);
        warn_deprecated(o);
    }
    return status;
}

gpufl_status settings_resolve(const struct gpufl_init_options *options,
                              struct settings *out, char why[256])
{
    struct gpufl_init_options given = GPUFL_INIT_OPTIONS_DEFAULT;
    why[0] = '\0';
    if (options) {
        if (options->struct_size < sizeof(size_t)) {
            snprintf(why, 256,
                     "struct_size: not set (initialise the options with "
                     "GPUFL_INIT_OPTIONS_DEFAULT)");
            return GPUFL_ERR_USAGE;
        }
        option_fields_take_whole(&given, options);
    }
    if (settings_disabled_by_env() || !given.enabled) {
        return GPUFL_OFF;
    }
    say_no_switch("GPUFL_DISABLED");
    struct config_file *file = calloc(1, sizeof *file);
    if (!file) {
        snprintf(why, 256, "out of memory");
        return GPUFL_ERR_NOMEM;
    }
    gpufl_status status = join_sources(&given, file, out, why);
    free(file);
    return status;
}
