/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the flags of --upload into the options of an upload. */
#include "cli/upload_recorded.h"

#include <stdio.h>

bool upload_recorded_has_backend(const struct upload_recorded *send)
{
    return send->backend_url && *send->backend_url && *send->api_key;
}

struct gpufl_upload_options upload_recorded_options(const struct upload_recorded *send,
                                                    const char *directory)
{
    struct gpufl_upload_options options = GPUFL_UPLOAD_OPTIONS_DEFAULT;
    options.log_path = directory;
    options.backend_url = send->backend_url ? send->backend_url : "";
    options.api_path = send->api_path;
    options.api_key = send->api_key;
    options.allow_insecure_http = send->allow_insecure_http;
    return options;
}

void upload_recorded_failed(const char *program, const char *directory, const char *why)
{
    fprintf(stderr, "%s: --upload: %s; gpufl upload %s sends it later\n", program, why,
            directory);
}
