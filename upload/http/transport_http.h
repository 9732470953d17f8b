/* SPDX-License-Identifier: Apache-2.0 */
/* The transport over HTTP, by libcurl's multi interface. */
#ifndef GPUFL_UPLOAD_HTTP_TRANSPORT_HTTP_H
#define GPUFL_UPLOAD_HTTP_TRANSPORT_HTTP_H

#include <gpufl/status.h>

#include "upload/http/exposure.h"
#include "upload/http/http_config.h"
#include "upload/http/origin_identity.h"
#include "upload/http/transport.h"

/** Opens a transport. Refuses to send a token over http to a public address unless
 * \p config allows it. Everything in \p config is copied. On failure \p why holds one
 * sentence. \return GPUFL_OK, GPUFL_ERR_USAGE, GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status transport_http_open(const struct transport_http_config *config,
                                            struct transport *out, char why[256]);

/** Who can read what is sent. */
enum exposure transport_http_exposure(const struct transport *transport);

/** By what its backend is told from another one. */
void transport_http_identity(const struct transport *transport,
                             struct origin_identity *out);

/** Uses \p token from the next request on. */
void transport_http_set_token(struct transport *transport, const char *token);

/** Aborts requests under way and frees everything; does not wait for a name lookup. */
void transport_http_close(struct transport *transport);

#endif
