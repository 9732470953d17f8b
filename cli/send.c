/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the flags of --upload into the options of an upload. */
#include "cli/send.h"

#include <stdio.h>

#include "cli/upload_flags.h"

bool send_has_backend(const struct send *send)
{
    return send->backend_url && *send->backend_url && *send->api_key;
}

struct gpufl_upload_options send_options(const struct send *send, const char *directory)
{
    struct gpufl_upload_options options = GPUFL_UPLOAD_OPTIONS_DEFAULT;
    options.log_path = directory;
    options.backend_url = send->backend_url ? send->backend_url : "";
    options.api_path = send->api_path;
    options.api_key = send->api_key;
    options.option_name = upload_flag_of;
    return options;
}

void send_failed(const char *program, const char *directory, const char *why)
{
    fprintf(stderr, "%s: --upload: %s (send it later: gpufl upload %s)\n", program, why,
            directory);
}
