/* SPDX-License-Identifier: Apache-2.0 */
/* Joins options, environment and file, and checks the ranges. */
#include "collector-lib/core/settings.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "base/parse_bool.h"
#include "base/variables.h"
#include "collector-lib/core/config_file.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/option_fields.h"
#include "schema/layout.h"

bool settings_disabled_by_env(void)
{
    return parse_bool(getenv("GPUFL_DISABLED"));
}

static void say_no_switch(const char *name)
{
    const char *value = getenv(name);
    bool on;
    if (value && *value && !parse_switch(value, &on)) {
        library_log(GPUFL_LOG_WARNING, "%s=%.*s%s ignored: expected " PARSE_SWITCH_WORDS,
                    name, MESSAGE_VALUE(value, OPTION_SHOWN_BYTES));
    }
}

static atomic_flag unread_said = ATOMIC_FLAG_INIT;

static void settings_say_unread(void *unused, const char *name, const char *meant)
{
    (void)unused;
    library_log(GPUFL_LOG_WARNING, "%s: nothing reads it (did you mean GPUFL_%s?)", name,
                meant);
}

const char *settings_engine_name(enum gpufl_profiling_engine engine)
{
    return (unsigned)engine < OPTION_ENGINES ? option_engine_name[engine] : "?";
}

/* What is no number from \p min to \p max is reported and ignored. */
static void env_number(const char *name, long long min, long long max, uint64_t *out)
{
    long long number;
    const char *value = getenv(name);
    if (!value || !*value) {
        return;
    }
    if (option_fields_number(value, min, max, &number)) {
        *out = (uint64_t)number;
    } else {
        library_log(GPUFL_LOG_WARNING,
                    "%s=%.*s%s ignored: expected a whole number from %lld to %lld", name,
                    MESSAGE_VALUE(value, OPTION_SHOWN_BYTES), min, max);
    }
}

static void warn_deprecated(const struct gpufl_init_options *o)
{
    if (o->remote_upload) {
        library_log(GPUFL_LOG_WARNING,
                    "remote_upload (GPUFL_REMOTE_UPLOAD) is deprecated and has no "
                    "effect: call gpufl_upload_logs() or run gpufl-agent");
    }
}

static void copy_strings(const struct gpufl_init_options *o, struct settings *out)
{
    const char *app = o->app_name && *o->app_name ? o->app_name : "gpufl";
    const char *path = o->log_path && *o->log_path ? o->log_path : app;
    out->log_path_by = path == getenv("GPUFL_LOG_DIR") ? "GPUFL_LOG_DIR" : "log_path";
    snprintf(out->app_name, sizeof out->app_name, "%s", app);
    snprintf(out->log_path, sizeof out->log_path, "%s", path);
    out->log_path[layout_log_dir_len(out->log_path)] = '\0';
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
    if (value && *value && !option_fields_engine(value, &max)) {
        library_log(GPUFL_LOG_WARNING,
                    "GPUFL_MAX_ENGINE=%.*s%s: expected " OPTION_ENGINE_WORDS
                    "; Monitor is taken",
                    MESSAGE_VALUE(value, OPTION_SHOWN_BYTES));
        max = GPUFL_ENGINE_MONITOR;
    }
    return max;
}

/* A word that is not known costs the job details, and not its session. Only the program
 * can have set one. */
static bool is_per_launch(const char *details)
{
    bool per_launch = details && strcmp(details, OPTION_PER_LAUNCH) == 0;
    if (details && *details && !per_launch) {
        library_log(GPUFL_LOG_WARNING,
                    "kernel_details: %.*s%s ignored: expected " OPTION_PER_LAUNCH,
                    MESSAGE_VALUE(details, OPTION_SHOWN_BYTES));
    }
    return per_launch;
}

static void copy_values(const struct gpufl_init_options *o, struct settings *out)
{
    out->sample_rate_ms = o->system_sample_rate_ms;
    out->continuous = o->continuous_system_sampling;
    out->backend = o->backend;
    out->engine = o->profiling_engine;
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
    out->sample_buffer_bytes = (size_t)o->pc_sampling_buffer_mib << 20;
    out->details_per_launch = is_per_launch(o->kernel_details);
}

/* What nothing but the environment sets. */
static void settings_take_env(struct settings *out)
{
    memset(out, 0, sizeof *out);
    out->max_engine = max_engine();
    out->rotate_bytes = SETTINGS_ROTATE_BYTES;
    out->max_spool_bytes = SETTINGS_MAX_SPOOL_BYTES;
    out->min_free_bytes = SETTINGS_MIN_FREE_BYTES;
    out->shutdown_ms = SETTINGS_SHUTDOWN_MS;
    env_text("GPUFL_POD_NAME", out->pod.name, sizeof out->pod.name);
    env_text("GPUFL_POD_NAMESPACE", out->pod.name_space, sizeof out->pod.name_space);
    env_text("GPUFL_NODE_NAME", out->pod.node, sizeof out->pod.node);
    env_text("GPUFL_SYSFS", out->sysfs, sizeof out->sysfs);
    env_number("GPUFL_LOG_ROTATE_BYTES", 1, 1ull << 40, &out->rotate_bytes);
    env_number("GPUFL_LOG_ROTATE_AFTER_MS", 0, 1ull << 40, &out->rotate_after_ms);
    env_number("GPUFL_LOG_MAX_SPOOL_BYTES", 0, 1ull << 50, &out->max_spool_bytes);
    env_number("GPUFL_LOG_MIN_FREE_BYTES", 0, 1ull << 50, &out->min_free_bytes);
    env_number("GPUFL_SHUTDOWN_TIMEOUT_MS", 1, 86400000, &out->shutdown_ms);
}

struct settings *settings_new(void)
{
    return calloc(1, sizeof(struct settings));
}

void settings_free(struct settings *settings)
{
    int saved = errno;
    free(settings);
    errno = saved;
}

gpufl_status settings_begin(const struct gpufl_init_options *options,
                            struct gpufl_init_options *given, struct settings *out,
                            char why[256])
{
    *given = (struct gpufl_init_options)GPUFL_INIT_OPTIONS_DEFAULT;
    why[0] = '\0';
    if (options) {
        if (options->struct_size < sizeof(size_t)) {
            snprintf(why, 256,
                     "struct_size: not set (initialise the options with "
                     "GPUFL_INIT_OPTIONS_DEFAULT)");
            return GPUFL_ERR_USAGE;
        }
        option_fields_take_whole(given, options);
    }
    if (settings_disabled_by_env() || !given->enabled) {
        return GPUFL_OFF;
    }
    say_no_switch("GPUFL_DISABLED");
    if (!atomic_flag_test_and_set_explicit(&unread_said, memory_order_relaxed)) {
        variables_each_unread(environ, settings_say_unread, NULL);
    }
    settings_take_env(out);
    return GPUFL_OK;
}

void settings_name_file(const struct gpufl_init_options *given, struct config_file *file)
{
    const char *by_env = getenv("GPUFL_CONFIG_FILE");
    bool by_code = given->config_file && *given->config_file;
    const char *path = by_code ? given->config_file : by_env ? by_env : "";
    file->named_by = by_code ? "config_file" : "GPUFL_CONFIG_FILE";
    if (strlen(path) >= sizeof file->path) {
        snprintf(file->fault, sizeof file->fault, "%s", message_reason(ENAMETOOLONG));
    }
    snprintf(file->path, sizeof file->path, "%s", path);
}

gpufl_status settings_join(const struct gpufl_init_options *given,
                           struct config_file *file, struct settings *out, char why[256])
{
    struct gpufl_init_options *o = &file->options;
    bool disabled;
    config_file_parse(file);
    option_fields_take_env(o);
    if (parse_switch(getenv("GPUFL_DISABLED"), &disabled)) {
        o->enabled = !disabled;
    }
    option_fields_take_code(o, given);
    if (!o->enabled) {
        return GPUFL_OFF;
    }
    gpufl_status status = option_fields_check(o, why);
    if (status == GPUFL_OK) {
        copy_strings(o, out);
        copy_values(o, out);
        warn_deprecated(o);
    }
    return status;
}
