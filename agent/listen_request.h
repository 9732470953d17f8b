/* SPDX-License-Identifier: Apache-2.0 */
/* What a client of the agent's own endpoint asks for. */
#ifndef GPUFL_AGENT_LISTEN_REQUEST_H
#define GPUFL_AGENT_LISTEN_REQUEST_H

#include <stddef.h>

enum listen_route {
    LISTEN_MORE, /**< the request is not whole yet */
    LISTEN_METRICS,
    LISTEN_HEALTHZ,
    LISTEN_READYZ,
    LISTEN_NOT_FOUND,
    LISTEN_NOT_GET,
    LISTEN_BAD,
};

/** Reads a request's first line, once its head is whole. */
enum listen_route listen_request(const char *text, size_t len);

#endif
