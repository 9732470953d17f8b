/* SPDX-License-Identifier: Apache-2.0 */
#include "upload/caller.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "upload/endpoint.h"
#include "upload/request_headers.h"

/* An empty text is none. */
static bool copy(const char *text, char **out)
{
    *out = text && *text ? strdup(text) : NULL;
    return *out || !text || !*text;
}

static void wipe_token(struct caller *caller)
{
    if (caller->token) {
        explicit_bzero(caller->token, strlen(caller->token));
    }
    free(caller->token);
    caller->token = NULL;
}

gpufl_status caller_init(struct caller *caller,
                         const struct transport_http_config *config, char why[256])
{
    memset(caller, 0, sizeof *caller);
    if (config->token && !request_headers_value_ok(config->token)) {
        snprintf(why, 256,
                 "the key holds a control character; check where it comes from");
        return GPUFL_ERR_USAGE;
    }
    if (config->ca_file && access(config->ca_file, R_OK) < 0) {
        snprintf(why, 256, "cannot read the certificates in %.160s: %s", config->ca_file,
                 strerror(errno));
        return GPUFL_ERR_USAGE;
    }
    if (!copy(config->token, &caller->token) ||
        !copy(config->user_agent, &caller->user_agent) ||
        !copy(config->hostname, &caller->hostname) ||
        !copy(config->ca_file, &caller->ca_file)) {
        snprintf(why, 256, "out of memory");
        return GPUFL_ERR_NOMEM;
    }
    return endpoint_prefix(config->backend_url, config->api_path, caller->prefix, why);
}

void caller_set_token(struct caller *caller, const char *token)
{
    wipe_token(caller);
    if (request_headers_value_ok(token)) {
        copy(token,
             &caller->token); /* without memory there is none, as after a bad one */
    }
}

void caller_fini(struct caller *caller)
{
    wipe_token(caller);
    free(caller->user_agent);
    free(caller->hostname);
    free(caller->ca_file);
}
