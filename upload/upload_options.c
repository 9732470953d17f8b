/* SPDX-License-Identifier: Apache-2.0 */
/* Fills in and checks the options of an upload: code, then environment, then default. */
#include "upload/upload_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/flag.h"
#include "base/message.h"

void gpufl_upload_options_default(struct gpufl_upload_options *options)
{
    *options = (struct gpufl_upload_options)GPUFL_UPLOAD_OPTIONS_DEFAULT;
}

static const char *or_env(const char *value, const char *name)
{
    const char *env = getenv(name);
    return value && *value ? value : env && !flag_is_blank(env) ? env : "";
}

static const char *or_empty(const char *value)
{
    return value ? value : "";
}

void upload_options_resolve(const struct gpufl_upload_options *given,
                            struct gpufl_upload_options *out)
{
    gpufl_upload_options_default(out);
    if (given && given->struct_size >= sizeof(size_t)) {
        size_t known =
            given->struct_size < sizeof *given ? given->struct_size : sizeof *given;
        memcpy(out, given, known);
    }
    out->backend_url = or_env(out->backend_url, "GPUFL_BACKEND_URL");
    out->api_key = or_env(out->api_key, "GPUFL_API_KEY");
    out->api_path = or_env(out->api_path, "GPUFL_API_PATH");
    out->log_path = or_empty(out->log_path);
    out->session_id = or_empty(out->session_id);
    out->state_dir = or_empty(out->state_dir);
}

const char *upload_options_name(const char *(*name)(const char *field), const char *field)
{
    return name ? name(field) : field;
}

static gpufl_status refuse_option(const char *(*name)(const char *field),
                                  const char *field, const char *reason, char why[512])
{
    snprintf(why, 512, "%s: %s", upload_options_name(name, field), reason);
    return GPUFL_ERR_USAGE;
}

static gpufl_status check_numbers(const struct gpufl_upload_options *o,
                                  const char *(*name)(const char *field), char why[512])
{
    const struct {
        const char *field;
        int value;
        int min;
    } row[] = {
        {"total_timeout_ms", o->total_timeout_ms, 1},
        {"connect_timeout_ms", o->connect_timeout_ms, 1},
        {"read_timeout_ms", o->read_timeout_ms, 1},
        {"max_retries", o->max_retries, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        if (row[i].value < row[i].min) {
            snprintf(why, 512, "%s: %d: too small (expected %d or more)",
                     upload_options_name(name, row[i].field), row[i].value, row[i].min);
            return GPUFL_ERR_USAGE;
        }
    }
    return GPUFL_OK;
}

gpufl_status upload_options_check(const struct gpufl_upload_options *o,
                                  const char *(*name)(const char *field), char why[512])
{
    if (!*o->log_path) {
        return refuse_option(name, "log_path",
                             "missing (expected the directory that holds the sessions)",
                             why);
    }
    if (!*o->backend_url) {
        return refuse_option(name, "backend_url",
                             "missing (give it, or set GPUFL_BACKEND_URL)", why);
    }
    if (!o->api_key[strspn(o->api_key, " \t")]) {
        return refuse_option(name, "api_key",
                             *o->api_key ? "blank (give the key)"
                                         : "missing (give it, or set GPUFL_API_KEY)",
                             why);
    }
    if (*o->session_id && o->all_sessions) {
        snprintf(why, 512, "%s: '%.*s%s': conflicts with %s (set only one)",
                 upload_options_name(name, "session_id"),
                 MESSAGE_VALUE(o->session_id, 128),
                 upload_options_name(name, "all_sessions"));
        return GPUFL_ERR_USAGE;
    }
    return check_numbers(o, name, why);
}
