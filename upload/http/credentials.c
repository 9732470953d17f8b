/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and copies what a transport needs to identify itself and its server. */
#include "upload/http/credentials.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "upload/http/endpoint.h"
#include "upload/http/exposure.h"
#include "upload/http/request_headers.h"

/* An empty text counts as none. */
static bool copy_optional(const char *text, char **out)
{
    *out = text && *text ? strdup(text) : NULL;
    return *out || !text || !*text;
}

static void wipe_token(struct credentials *credentials)
{
    if (credentials->token) {
        explicit_bzero(credentials->token, strlen(credentials->token));
    }
    free(credentials->token);
    credentials->token = NULL;
}

static gpufl_status check_readable(const char *name, const char *file, char why[256])
{
    if (file && *file && access(file, R_OK) < 0) {
        snprintf(why, 256, "%s: '%.160s': %s", name, file, strerror(errno));
        return GPUFL_ERR_USAGE;
    }
    return GPUFL_OK;
}

static gpufl_status check_files(const struct transport_http_config *config,
                                const char *ca_file, char why[256])
{
    const char *ca_name = ca_file == config->ca_file ? http_config_name(config, "ca_file")
                                                     : "SSL_CERT_FILE";
    gpufl_status status = check_readable(ca_name, ca_file, why);
    if (status == GPUFL_OK) {
        status = check_readable(http_config_name(config, "client_cert"),
                                config->client_cert, why);
    }
    if (status == GPUFL_OK) {
        status = check_readable(http_config_name(config, "client_key"),
                                config->client_key, why);
    }
    return status;
}

/* No proxy for http unless it was asked for: it would see the token. */
static bool copy_proxy(struct credentials *credentials, const char *proxy)
{
    bool none = proxy && strcmp(proxy, "none") == 0;
    bool plain = strncmp(credentials->prefix, "http://", 7) == 0;
    if (none || (plain && (!proxy || !*proxy))) {
        credentials->proxy = strdup("");
        return credentials->proxy != NULL;
    }
    return copy_optional(proxy, &credentials->proxy);
}

static gpufl_status check_exposure(const struct transport_http_config *config,
                                   const char *prefix, char why[256])
{
    if (config->token && *config->token && !config->allow_insecure_http &&
        exposure_of(prefix) == EXPOSURE_PUBLIC) {
        snprintf(
            why, 256,
            "%s: '%.80s': the API key would travel unencrypted over a public network "
            "(use https:// or %s)",
            http_config_name(config, "backend_url"), config->backend_url,
            http_config_name(config, "allow_insecure_http"));
        return GPUFL_ERR_USAGE;
    }
    return GPUFL_OK;
}

gpufl_status credentials_init(struct credentials *credentials,
                              const struct transport_http_config *config, char why[256])
{
    const char *ca_file =
        config->ca_file && *config->ca_file ? config->ca_file : getenv("SSL_CERT_FILE");
    memset(credentials, 0, sizeof *credentials);
    if (config->token && !request_headers_value_ok(config->token)) {
        snprintf(why, 256, "%s: contains a control character",
                 http_config_name(config, "api_key"));
        return GPUFL_ERR_USAGE;
    }
    gpufl_status status = endpoint_prefix(config, credentials->prefix, why);
    status =
        status == GPUFL_OK ? check_exposure(config, credentials->prefix, why) : status;
    status = status == GPUFL_OK ? check_files(config, ca_file, why) : status;
    if (status == GPUFL_OK &&
        (!copy_optional(config->token, &credentials->token) ||
         !copy_optional(config->user_agent, &credentials->user_agent) ||
         !copy_optional(config->hostname, &credentials->hostname) ||
         !copy_optional(ca_file, &credentials->ca_file) ||
         !copy_optional(config->client_cert, &credentials->client_cert) ||
         !copy_optional(config->client_key, &credentials->client_key) ||
         !copy_proxy(credentials, config->proxy))) {
        snprintf(why, 256, "out of memory");
        return GPUFL_ERR_NOMEM;
    }
    return status;
}

void credentials_set_token(struct credentials *credentials, const char *token)
{
    wipe_token(credentials);
    if (request_headers_value_ok(token)) {
        /* Without memory there is no token, as after a bad one. */
        copy_optional(token, &credentials->token);
    }
}

void credentials_fini(struct credentials *credentials)
{
    wipe_token(credentials);
    free(credentials->user_agent);
    free(credentials->hostname);
    free(credentials->ca_file);
    free(credentials->client_cert);
    free(credentials->client_key);
    free(credentials->proxy);
}
