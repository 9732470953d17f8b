/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of a transport over HTTP. */
#ifndef GPUFL_UPLOAD_HTTP_HTTP_CONFIG_H
#define GPUFL_UPLOAD_HTTP_HTTP_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

/** All strings are borrowed. */
struct transport_http_config {
    const char *backend_url; /**< scheme://host[:port]; a path in it is refused */
    const char *api_path;    /**< NULL or "" = /api/v1 */
    const char *token;       /**< Bearer token, NULL or "" = none */
    const char *user_agent;
    const char *hostname; /**< X-GpuFlight-Hostname, NULL = none */
    const char *ca_file;  /**< PEM certificates to trust; NULL = those of SSL_CERT_FILE,
                               else the system's */
    const char *client_cert; /**< PEM, shown to a server that asks for one; NULL = none */
    const char *client_key;  /**< its private key, PEM; NULL = in client_cert too */
    /** http://host:port; "none" = none. NULL = for https as the environment says
     * (HTTPS_PROXY, NO_PROXY), for http none. The token passes it only inside a CONNECT
     * tunnel. */
    const char *proxy;
    bool allow_insecure_http; /**< send the token over http to a public address */
    uint64_t connect_timeout_ms;
    uint64_t read_timeout_ms;  /**< without a byte sent or received */
    uint64_t total_timeout_ms; /**< of one request */
    /** What errors call the option \p field of gpufl_upload_options; NULL = as it is
     * called there. */
    const char *(*option_name)(const char *field);
};

/** The name of the option \p field that the user knows. */
const char *http_config_name(const struct transport_http_config *config,
                             const char *field);

/** \return true if requests to \p url, which may have no scheme, are not encrypted. */
bool http_config_is_plain(const char *url);

/** Is told the name of an option that changes nothing, and why. */
typedef void http_config_unused(void *arg, const char *name, const char *why);

/** Calls \p say for each option that the scheme of the backend leaves without effect. */
void http_config_unused_each(const struct transport_http_config *config,
                             http_config_unused *say, void *arg);

#endif
