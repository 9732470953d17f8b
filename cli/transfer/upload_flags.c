/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line calls the options of an upload. */
#include "cli/transfer/upload_flags.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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

static const char *upload_variable_of(const char *field)
{
    return strcmp(field, "backend_url") == 0 ? "GPUFL_BACKEND_URL"
                                             : upload_flag_of(field);
}

upload_names *upload_names_of(const char *backend_url)
{
    bool by_variable = backend_url && backend_url == getenv("GPUFL_BACKEND_URL");
    return by_variable ? upload_variable_of : upload_flag_of;
}
