/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server: routes, limits, who may ask. */
#ifndef GPUFL_BACKEND_HTTP_HTTP_H
#define GPUFL_BACKEND_HTTP_HTTP_H

#include <stdint.h>

#include <gpufl/status.h>

#include "backend/store/retention.h"
#include "backend/store/store.h"
#include "base/address.h"

struct http_server;

struct http_config {
    const struct address *address;
    const char *api_key; /**< NULL = everybody may */
    struct store *store; /**< borrowed until http_stop */
    struct retention retention;
};

/** Starts serving on a thread of its own. On failure \p why holds one sentence. */
GPUFL_MUST gpufl_status http_start(const struct http_config *config,
                                   struct http_server **out, char why[256]);

/** The port that is listened on. */
uint16_t http_port(const struct http_server *server);

/** Stops; requests under way are answered or cut. */
void http_stop(struct http_server *server);

#endif
