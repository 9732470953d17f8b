/* SPDX-License-Identifier: Apache-2.0 */
/* Names the settings of a transport in errors. */
#include "upload/http/http_config.h"

#include <stddef.h>

const char *http_config_name(const struct transport_http_config *config,
                             const char *field)
{
    return config->option_name ? config->option_name(field) : field;
}
