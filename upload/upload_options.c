/* SPDX-License-Identifier: Apache-2.0 */
/* Code beats environment beats default. */
#include "upload/upload_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gpufl_upload_options_default(struct gpufl_upload_options *options)
{
    *options = (struct gpufl_upload_options)GPUFL_UPLOAD_OPTIONS_DEFAULT;
}

static const char *or_env(const char *value, const char *name)
{
    const char *env = getenv(name);
    return value && *value ? value : env ? env : "";
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

static gpufl_status refuse(char why[512], const char *text)
{
    snprintf(why, 512, "%s", text);
    return GPUFL_ERR_USAGE;
}

gpufl_status upload_options_check(const struct gpufl_upload_options *o, char why[512])
{
    if (!*o->log_path) {
        return refuse(why,
                      "log_path is missing: give the directory that holds the sessions");
    }
    if (!*o->backend_url) {
        return refuse(why, "backend_url (GPUFL_BACKEND_URL) is missing: set it in the "
                           "options, by flag or in the environment");
    }
    if (!*o->api_key) {
        return refuse(why,
                      "api_key (GPUFL_API_KEY) is missing: set it in the options, by "
                      "flag or in the environment");
    }
    if (*o->session_id && o->all_sessions) {
        return refuse(why, "session_id and all_sessions exclude each other: give one");
    }
    if (o->total_timeout_ms <= 0 || o->connect_timeout_ms <= 0 ||
        o->read_timeout_ms <= 0 || o->max_retries < 0) {
        return refuse(why, "timeouts must be above 0 ms and max_retries not below 0");
    }
    return GPUFL_OK;
}
