/* SPDX-License-Identifier: Apache-2.0 */
/* The transport over HTTP by libcurl's multi interface. */
#ifndef GPUFL_UPLOAD_HTTP_TRANSPORT_HTTP_H
#define GPUFL_UPLOAD_HTTP_TRANSPORT_HTTP_H

#include <stdbool.h>

#include <gpufl/status.h>

#include "upload/http/endpoint.h"
#include "upload/http/transport.h"

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
    const char *proxy; /**< http://host:port; "none" = none. NULL = for https what the
                            environment says (HTTPS_PROXY, NO_PROXY), for http none. The
                            token goes through it by CONNECT only, never to it. */
    bool allow_insecure_http; /**< send the token over http to a public address */
    uint64_t connect_timeout_ms;
    uint64_t read_timeout_ms;  /**< without any byte moving */
    uint64_t total_timeout_ms; /**< of one request */
};

/** Opens a transport; over http to a public address none that has a token, unless it is
 * allowed. Everything in \p config is copied. On failure \p why holds one
 * sentence. \return GPUFL_OK, GPUFL_ERR_USAGE, GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status transport_http_open(const struct transport_http_config *config,
                                            struct transport *out, char why[256]);

/** Who could read along. */
enum endpoint_exposure transport_http_exposure(const struct transport *transport);

/** Uses \p token from the next request on. */
void transport_http_set_token(struct transport *transport, const char *token);

/** Aborts what is under way and frees. Does not wait for a name lookup. */
void transport_http_close(struct transport *transport);

#endif
