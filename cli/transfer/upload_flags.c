/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line calls the options of an upload. */
#include "cli/transfer/upload_flags.h"

#include <stddef.h>
#include <string.h>

const char *upload_flag_of(const char *field)
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
    };
    for (size_t i = 0; i < sizeof flag / sizeof flag[0]; i++) {
        if (strcmp(flag[i][0], field) == 0) {
            return flag[i][1];
        }
    }
    return field;
}
