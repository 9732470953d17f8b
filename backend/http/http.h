/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server. */
#ifndef GPUFL_BACKEND_HTTP_HTTP_H
#define GPUFL_BACKEND_HTTP_HTTP_H

#include <stdint.h>

#include <gpufl/status.h>

#include "backend/store/retention.h"
#include "backend/store/store.h"

struct http_server;

struct http_config {
    int listener;        /**< of http_listen(); the server closes it */
    const char *api_key; /**< NULL = no key is required */
    struct store *store; /**< borrowed until http_stop */
    struct retention retention;
};

/** Starts serving on a thread of its own. On failure \p why holds one sentence. */
GPUFL_MUST gpufl_status http_start(const struct http_config *config,
                                   struct http_server **out, char why[256]);

/** The port that the server listens on. */
uint16_t http_port(const struct http_server *server);

/** Ends connections that are too slow; to be called once a second. */
void http_sweep(struct http_server *server);

/** Stops; requests in progress are answered or cut off. */
void http_stop(struct http_server *server);

#endif
