/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of the agent's endpoint, a fixed number of them. */
#ifndef GPUFL_AGENT_LISTEN_CLIENT_H
#define GPUFL_AGENT_LISTEN_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/listen_request.h"
#include "base/text.h"

#define LISTEN_CLIENTS_MAX 8u
#define LISTEN_REQUEST_MAX 2048u
#define LISTEN_CLIENT_MS   5000u /* from connecting to the last byte of the answer */
#define LISTEN_ASKED_MS    1000u /* an answer waits this long for the loop */

struct listen_client {
    int fd; /**< -1 = free */
    enum listen_route route;
    uint64_t since_ms;
    size_t in_len;
    size_t sent;
    char in[LISTEN_REQUEST_MAX];
    struct text out; /**< the response, empty until there is one */
};

void listen_clients_init(struct listen_client client[LISTEN_CLIENTS_MAX]);

/** Accepts a connection, in place of the oldest one if none is free. */
void listen_clients_accept(struct listen_client client[LISTEN_CLIENTS_MAX], int socket,
                           uint64_t now_ms);

/** Closes the connection, if there is one. */
void listen_client_drop(struct listen_client *client);

/** True when the answer holds what only the loop knows. */
bool listen_client_needs_figures(const struct listen_client *client);

/** Reads what has arrived and sets the route once the request is complete. */
void listen_client_receive(struct listen_client *client);

/** Sends what the socket accepts; closes the connection after the last byte. */
void listen_client_transmit(struct listen_client *client);

/** Milliseconds until the first client times out, -1 = there is none. */
int listen_clients_timeout_ms(const struct listen_client client[LISTEN_CLIENTS_MAX],
                              uint64_t now_ms);

#endif
