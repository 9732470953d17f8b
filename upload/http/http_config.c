/* SPDX-License-Identifier: Apache-2.0 */
/* Names the settings of a transport in errors. */
#include "upload/http/http_config.h"

#include <stddef.h>
#include <strings.h>

const char *http_config_name(const struct transport_http_config *config,
                             const char *field)
{
    return config->option_name ? config->option_name(field) : field;
}

bool http_config_is_plain(const char *url)
{
    return strncasecmp(url, "https://", 8) != 0;
}

void http_config_unused_each(const struct transport_http_config *config,
                             http_config_unused *say, void *arg)
{
    bool plain = http_config_is_plain(config->backend_url ? config->backend_url : "");
    const struct {
        const char *field;
        bool unused;
    } row[] = {
        {"ca_file", plain && config->ca_file && *config->ca_file},
        {"client_cert", plain && config->client_cert && *config->client_cert},
        {"client_key", plain && config->client_key && *config->client_key},
        {"allow_insecure_http", !plain && config->allow_insecure_http},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        if (row[i].unused) {
            say(arg, http_config_name(config, row[i].field),
                plain ? "the backend has an http:// address"
                      : "the backend has an https:// address");
        }
    }
}
