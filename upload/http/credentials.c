/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and copies what a transport needs to identify itself and its server. */
#include "upload/http/credentials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/message.h"
#include "schema/api_key.h"
#include "upload/http/endpoint.h"
#include "upload/http/exposure.h"
#include "upload/http/host_port.h"
#include "upload/http/pem.h"
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

static gpufl_status check_pem(const char *name, const char *file, enum pem_kind kind,
                              char why[256])
{
    const char *fault = file && *file ? pem_fault(file, kind) : NULL;
    if (fault) {
        snprintf(why, 256, "%s: '%.*s%s': %s%s", name, MESSAGE_VALUE(file, 120), fault,
                 message_way_out(fault, " (give a PEM file that can be read)"));
        return GPUFL_ERR_USAGE;
    }
    return GPUFL_OK;
}

/* The key may lie in the file of the certificate. */
static gpufl_status check_client(const struct transport_http_config *config,
                                 char why[256])
{
    const char *cert_name = http_config_name(config, "client_cert");
    const char *key_name = http_config_name(config, "client_key");
    bool has_cert = config->client_cert && *config->client_cert;
    bool has_key = config->client_key && *config->client_key;
    gpufl_status status = check_pem(cert_name, config->client_cert, PEM_CERTIFICATE, why);
    if (status == GPUFL_OK) {
        status = check_pem(has_key ? key_name : cert_name,
                           has_key ? config->client_key : config->client_cert,
                           PEM_PRIVATE_KEY, why);
    }
    if (status == GPUFL_OK && has_key && !has_cert) {
        snprintf(why, 256, "%s: '%.*s%s': a key without its certificate (give %s, too)",
                 key_name, MESSAGE_VALUE(config->client_key, 120), cert_name);
        status = GPUFL_ERR_USAGE;
    }
    return status;
}

static gpufl_status check_files(const struct transport_http_config *config,
                                const char *ca_file, char why[256])
{
    const char *ca_name = ca_file == config->ca_file ? http_config_name(config, "ca_file")
                                                     : "SSL_CERT_FILE";
    gpufl_status status = check_pem(ca_name, ca_file, PEM_CERTIFICATE, why);
    return status == GPUFL_OK ? check_client(config, why) : status;
}

/* What libcurl takes for https, but for what NO_PROXY excludes. \return the variable. */
static const char *proxy_variable(const struct credentials *credentials)
{
    static const char *const name[] = {"https_proxy", "HTTPS_PROXY", "all_proxy",
                                       "ALL_PROXY"};
    bool used = strncmp(credentials->prefix, "https:", 6) == 0 && !getenv("no_proxy") &&
                !getenv("NO_PROXY");
    for (size_t i = 0; used && i < sizeof name / sizeof name[0]; i++) {
        const char *value = getenv(name[i]);
        if (value && *value) {
            return name[i];
        }
    }
    return NULL;
}

/* Its value is not shown when it may hold a password. */
static gpufl_status check_proxy(const char *name, const char *proxy, char why[256])
{
    static const char *const schemes[] = {"http",    "https",  "socks4",
                                          "socks4a", "socks5", "socks5h"};
    const char *colon = strstr(proxy, "://");
    const char *host = colon ? colon + 3 : proxy;
    size_t len = strcspn(host, "/");
    const char *user = memrchr(host, '@', len);
    bool known = !colon;
    if (!*proxy || strcmp(proxy, "none") == 0) {
        return GPUFL_OK;
    }
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0] && !known; i++) {
        known = (size_t)(colon - proxy) == strlen(schemes[i]) &&
                strncasecmp(proxy, schemes[i], strlen(schemes[i])) == 0;
    }
    len -= user ? (size_t)(user + 1 - host) : 0;
    host = user ? user + 1 : host;
    const char *fault = known ? host_port_fault(host, len) : "unknown scheme";
    if (fault) {
        snprintf(why, 256, "%s: '%.*s%s': %s (expected http://host:port, or none)", name,
                 MESSAGE_VALUE(user ? host : proxy, 100), fault);
        return GPUFL_ERR_USAGE;
    }
    return GPUFL_OK;
}

static gpufl_status check_proxies(const struct transport_http_config *config,
                                  const struct credentials *credentials, char why[256])
{
    const char *variable = proxy_variable(credentials);
    if (config->proxy && *config->proxy) {
        return check_proxy(http_config_name(config, "proxy"), config->proxy, why);
    }
    return variable ? check_proxy(variable, getenv(variable), why) : GPUFL_OK;
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
            "%s: '%.*s%s': the API key would travel unencrypted over a public network "
            "(use https:// or %s)",
            http_config_name(config, "backend_url"),
            MESSAGE_VALUE(config->backend_url, 80),
            http_config_name(config, "allow_insecure_http"));
        return GPUFL_ERR_USAGE;
    }
    return GPUFL_OK;
}

gpufl_status credentials_init(struct credentials *credentials,
                              const struct transport_http_config *config, char why[256])
{
    const char *ca_file = config->ca_file;
    memset(credentials, 0, sizeof *credentials);
    const char *fault = config->token ? api_key_fault(config->token) : NULL;
    if (fault) {
        snprintf(why, 256, "%s: %s", http_config_name(config, "api_key"), fault);
        return GPUFL_ERR_USAGE;
    }
    gpufl_status status = endpoint_prefix(config, credentials->prefix, why);
    if ((!ca_file || !*ca_file) && strncmp(credentials->prefix, "https:", 6) == 0) {
        ca_file = getenv("SSL_CERT_FILE");
    }
    status =
        status == GPUFL_OK ? check_exposure(config, credentials->prefix, why) : status;
    status = status == GPUFL_OK ? check_files(config, ca_file, why) : status;
    status = status == GPUFL_OK ? check_proxies(config, credentials, why) : status;
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
