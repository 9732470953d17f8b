/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the flags about the backend into options, and tells which were given. */
#include "cli/backend_arguments.h"

#include <stdlib.h>
#include <string.h>

void backend_arguments_apply(const struct backend_arguments *from,
                             struct gpufl_upload_options *options)
{
    options->backend_url = from->backend_url;
    options->api_path = from->api_path;
    options->api_key = from->api_key;
    options->ca_file = from->ca_file;
    options->client_cert = from->client_cert;
    options->client_key = from->client_key;
    options->proxy = from->proxy;
    options->allow_insecure_http = from->allow_insecure_http;
    options->same_origin = from->same_origin;
}

static bool is_of_command_line(const struct flag *flag, const void *field)
{
    const char *variable = flag->variable ? getenv(flag->variable) : NULL;
    const char *text = NULL;
    if (flag->type == FLAG_ON) {
        return *(const bool *)field;
    }
    if (flag->type == FLAG_SECRET) {
        text = field;
        return *text && (!variable || strcmp(text, variable) != 0);
    }
    memcpy(&text, field, sizeof text);
    return text && text != variable && text != flag->fallback;
}

const struct flag *backend_arguments_given(const struct flag_table *table,
                                           const void *fields,
                                           const struct backend_arguments *of)
{
    const char *start = fields;
    size_t at = (size_t)((const char *)of - start);
    for (size_t i = 0; i < table->count; i++) {
        const struct flag *flag = &table->flag[i];
        if (flag->field >= at && flag->field < at + sizeof *of &&
            is_of_command_line(flag, start + flag->field)) {
            return flag;
        }
    }
    return NULL;
}
