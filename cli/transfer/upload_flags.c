/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line calls the options of an upload. */
#include "cli/transfer/upload_flags.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"

static const char *upload_flag_of(const char *field)
{
    static const char *const flag[][2] = {
        {"log_path", "DIR"},
        {"backend_url", "--backend-url"},
        {"api_key", "--api-key"},
        {"api_path", "--api-path"},
        {"total_timeout_ms", "--timeout"},
        {"max_retries", "--retries"},
        {"session_id", "--session-id"},
        {"all_sessions", "--all-sessions"},
        {"force", "--force"},
        {"compression", "--compression"},
        {"state_dir", "--state-dir"},
        {"leave_unpublished", "--no-salvage"},
        {"ca_file", "--ca-file"},
        {"client_cert", "--client-cert"},
        {"client_key", "--client-key"},
        {"proxy", "--proxy"},
        {"allow_insecure_http", "--allow-insecure-http"},
        {"same_origin", "--same-origin"},
    };
    for (size_t i = 0; i < sizeof flag / sizeof flag[0]; i++) {
        if (strcmp(flag[i][0], field) == 0) {
            return flag[i][1];
        }
    }
    return field;
}

/* What a variable has set instead of its flag, as bits. */
enum { BY_URL = 1, BY_KEY = 2, BY_PATH = 4 };

static const char *upload_name_of(const char *field, unsigned variables)
{
    return (variables & BY_URL) && strcmp(field, "backend_url") == 0 ? "GPUFL_BACKEND_URL"
           : (variables & BY_KEY) && strcmp(field, "api_key") == 0   ? "GPUFL_API_KEY"
           : (variables & BY_PATH) && strcmp(field, "api_path") == 0
               ? "GPUFL_API_PATH"
               : upload_flag_of(field);
}

/* The names are asked for by the field alone: a function for each set of variables. */
static const char *upload_names_flags(const char *field)
{
    return upload_name_of(field, 0);
}

static const char *upload_names_url(const char *field)
{
    return upload_name_of(field, BY_URL);
}

static const char *upload_names_key(const char *field)
{
    return upload_name_of(field, BY_KEY);
}

static const char *upload_names_url_key(const char *field)
{
    return upload_name_of(field, BY_URL | BY_KEY);
}

static const char *upload_names_path(const char *field)
{
    return upload_name_of(field, BY_PATH);
}

static const char *upload_names_url_path(const char *field)
{
    return upload_name_of(field, BY_URL | BY_PATH);
}

static const char *upload_names_key_path(const char *field)
{
    return upload_name_of(field, BY_KEY | BY_PATH);
}

static const char *upload_names_all(const char *field)
{
    return upload_name_of(field, BY_URL | BY_KEY | BY_PATH);
}

static bool upload_set_by(const char *value, const char *variable)
{
    const char *is = getenv(variable);
    return value && *value && is && strcmp(value, is) == 0;
}

upload_names *upload_names_of(const struct gpufl_upload_options *options)
{
    static upload_names *const names[] = {
        [0] = upload_names_flags,
        [BY_URL] = upload_names_url,
        [BY_KEY] = upload_names_key,
        [BY_URL | BY_KEY] = upload_names_url_key,
        [BY_PATH] = upload_names_path,
        [BY_URL | BY_PATH] = upload_names_url_path,
        [BY_KEY | BY_PATH] = upload_names_key_path,
        [BY_URL | BY_KEY | BY_PATH] = upload_names_all,
    };
    unsigned variables = 0;
    variables |= upload_set_by(options->backend_url, "GPUFL_BACKEND_URL") ? BY_URL : 0;
    variables |= upload_set_by(options->api_key, "GPUFL_API_KEY") ? BY_KEY : 0;
    variables |= upload_set_by(options->api_path, "GPUFL_API_PATH") ? BY_PATH : 0;
    return names[variables];
}

struct transport_http_config
upload_flags_backend(const struct gpufl_upload_options *options)
{
    return (struct transport_http_config){
        .user_agent = "gpufl/" GPUFL_VERSION,
        .connect_timeout_ms = GPUFL_UPLOAD_CONNECT_TIMEOUT_MS,
        .read_timeout_ms = GPUFL_UPLOAD_READ_TIMEOUT_MS,
        .total_timeout_ms = GPUFL_UPLOAD_TOTAL_TIMEOUT_MS,
        .backend_url = options->backend_url,
        .api_path = options->api_path,
        .token = options->api_key,
        .ca_file = options->ca_file,
        .client_cert = options->client_cert,
        .client_key = options->client_key,
        .proxy = options->proxy,
        .allow_insecure_http = options->allow_insecure_http,
        .option_name = upload_names_of(options)};
}

struct upload_unused {
    const char *program;
};

static void upload_unused_say(void *arg, const char *name, const char *why)
{
    const struct upload_unused *by = arg;
    message_line(by->program, "%s: changes nothing: %s", name, why);
}

void upload_flags_say_unused(const char *program,
                             const struct transport_http_config *backend)
{
    struct upload_unused by = {program};
    http_config_unused_each(backend, upload_unused_say, &by);
}
