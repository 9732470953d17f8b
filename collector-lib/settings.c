/* SPDX-License-Identifier: Apache-2.0 */
/* Joins options, environment and defaults: code beats environment beats default, and
 * GPUFL_DISABLED beats all. "Set in code" means different from the default. */
#include "collector-lib/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/truth.h"

#define SAMPLE_RATE_MAX_MS 86400000

bool settings_disabled_by_env(void)
{
    return truth_of(getenv("GPUFL_DISABLED"));
}

/* A whole decimal number in [1, max]; anything else is said and ignored. */
static bool env_number(const char *name, uint64_t max, uint64_t *out)
{
    const char *value = getenv(name);
    if (!value || !*value) {
        return false;
    }
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (errno || *end || value[0] == '-' || number == 0 || number > max) {
        fprintf(stderr, "[GPUFL] %s=%s is not a number from 1 to %llu; ignored\n", name,
                value, (unsigned long long)max);
        return false;
    }
    *out = number;
    return true;
}

static gpufl_status copy_string(char *out, size_t size, const char *value,
                                const char *field, char why[256])
{
    if (strlen(value) >= size) {
        snprintf(why, 256, "%s is longer than %zu bytes; shorten it", field, size - 1);
        return GPUFL_ERR_USAGE;
    }
    strcpy(out, value);
    return GPUFL_OK;
}

static gpufl_status check_ranges(const struct gpufl_init_options *o, char why[256])
{
    if (o->system_sample_rate_ms < 0 || o->system_sample_rate_ms > SAMPLE_RATE_MAX_MS) {
        snprintf(why, 256, "system_sample_rate_ms is %d; give 0 (off) to %d",
                 o->system_sample_rate_ms, SAMPLE_RATE_MAX_MS);
        return GPUFL_ERR_USAGE;
    }
    if ((unsigned)o->backend > GPUFL_BACKEND_NONE) {
        snprintf(why, 256, "backend is %d; give one of the GPUFL_BACKEND_ values",
                 (int)o->backend);
        return GPUFL_ERR_USAGE;
    }
    if (o->simulated_gpus < 0 || o->simulated_gpus > 16) {
        snprintf(why, 256, "simulated_gpus is %d; give 0 to 16", o->simulated_gpus);
        return GPUFL_ERR_USAGE;
    }
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

gpufl_status settings_resolve(const struct gpufl_init_options *options,
                              struct settings *out, char why[256])
{
    struct gpufl_init_options o = GPUFL_INIT_OPTIONS_DEFAULT;
    why[0] = '\0';
    if (options) {
        if (options->struct_size < sizeof(size_t)) {
            snprintf(why, 256,
                     "struct_size is not set; start from "
                     "GPUFL_INIT_OPTIONS_DEFAULT");
            return GPUFL_ERR_USAGE;
        }
        size_t known = options->struct_size < sizeof o ? options->struct_size : sizeof o;
        memcpy(&o, options, known);
    }
    if (settings_disabled_by_env() || !o.enabled) {
        return GPUFL_OFF;
    }
    gpufl_status status = check_ranges(&o, why);
    if (status != GPUFL_OK) {
        return status;
    }
    memset(out, 0, sizeof *out);
    status = copy_strings(&o, out, why);
    if (status != GPUFL_OK) {
        return status;
    }
    uint64_t number;
    out->sample_rate_ms = o.system_sample_rate_ms;
    out->continuous = o.continuous_system_sampling;
    out->backend = o.backend;
    out->sync_each_write =
        o.flush_logs_always || truth_of(getenv("GPUFL_FLUSH_LOGS_ALWAYS"));
    out->debug = o.enable_debug_output || truth_of(getenv("GPUFL_DEBUG"));
    out->simulated_gpus = o.simulated_gpus;
    if (o.simulated_gpus == 0 && env_number("GPUFL_SIMULATED_GPUS", 16, &number)) {
        out->simulated_gpus = (int)number;
    }
    out->rotate_bytes = SETTINGS_ROTATE_BYTES;
    if (env_number("GPUFL_LOG_ROTATE_BYTES", 1ull << 40, &number)) {
        out->rotate_bytes = number;
    }
    return GPUFL_OK;
}
