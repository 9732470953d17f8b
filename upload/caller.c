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

static gpufl_status check_readable(const char *what, const char *file, char why[256])
{
    if (file && *file && access(file, R_OK) < 0) {
        snprintf(why, 256, "cannot read the %s in %.160s: %s", what, file,
                 strerror(errno));
        return GPUFL_ERR_USAGE;
    }
    return GPUFL_OK;
}

/* No proxy for http unless one is named: it would see the token. */
static bool copy_proxy(struct caller *caller, const char *proxy)
{
    bool none = proxy && strcmp(proxy, "none") == 0;
    bool plain = strncmp(caller->prefix, "http://", 7) == 0;
    if (none || (plain && (!proxy || !*proxy))) {
        caller->proxy = strdup("");
        return caller->proxy != NULL;
    }
    return copy(proxy, &caller->proxy);
}

static gpufl_status check_exposure(const struct transport_http_config *config,
                                   const char *prefix, char why[256])
{
    if (config->token && *config->token && !config->allow_insecure_http &&
        endpoint_exposure(prefix) == ENDPOINT_PUBLIC) {
        snprintf(why, 256,
                 "the API key would go unencrypted to %.100s, where anybody could read "
                 "it: use https://, or --allow-insecure-http if that is meant",
                 prefix);
        return GPUFL_ERR_USAGE;
    }
    return GPUFL_OK;
}

gpufl_status caller_init(struct caller *caller,
                         const struct transport_http_config *config, char why[256])
{
    const char *ca_file =
        config->ca_file && *config->ca_file ? config->ca_file : getenv("SSL_CERT_FILE");
    memset(caller, 0, sizeof *caller);
    if (config->token && !request_headers_value_ok(config->token)) {
        snprintf(why, 256,
                 "the key holds a control character; check where it comes from");
        return GPUFL_ERR_USAGE;
    }
    gpufl_status status =
        endpoint_prefix(config->backend_url, config->api_path, caller->prefix, why);
    status = status == GPUFL_OK ? check_exposure(config, caller->prefix, why) : status;
    status = status == GPUFL_OK ? check_readable("certificates", ca_file, why) : status;
    status = status == GPUFL_OK
                 ? check_readable("client certificate", config->client_cert, why)
                 : status;
    status = status == GPUFL_OK ? check_readable("client key", config->client_key, why)
                                : status;
    if (status == GPUFL_OK &&
        (!copy(config->token, &caller->token) ||
         !copy(config->user_agent, &caller->user_agent) ||
         !copy(config->hostname, &caller->hostname) || !copy(ca_file, &caller->ca_file) ||
         !copy(config->client_cert, &caller->client_cert) ||
         !copy(config->client_key, &caller->client_key) ||
         !copy_proxy(caller, config->proxy))) {
        snprintf(why, 256, "out of memory");
        return GPUFL_ERR_NOMEM;
    }
    return status;
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
    free(caller->client_cert);
    free(caller->client_key);
    free(caller->proxy);
}
