/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts, reads, writes and drops. */
#include "agent/listen_client.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

void listen_clients_init(struct listen_client client[LISTEN_CLIENTS_MAX])
{
    for (unsigned i = 0; i < LISTEN_CLIENTS_MAX; i++) {
        client[i] = (struct listen_client){.fd = -1};
    }
}

void listen_client_drop(struct listen_client *c)
{
    if (c->fd >= 0) {
        close(c->fd);
    }
    c->fd = -1;
    text_fini(&c->out);
}

/* A free one, or the oldest. */
static struct listen_client *client_to_use(struct listen_client *client)
{
    struct listen_client *best = client;
    for (unsigned i = 1; i < LISTEN_CLIENTS_MAX && best->fd >= 0; i++) {
        if (client[i].fd < 0 || client[i].since_ms < best->since_ms) {
            best = &client[i];
        }
    }
    return best;
}

void listen_clients_accept(struct listen_client client[LISTEN_CLIENTS_MAX], int socket,
                           uint64_t now_ms)
{
    int fd = accept4(socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        struct listen_client *c = client_to_use(client);
        listen_client_drop(c);
        c->fd = fd;
        c->route = LISTEN_MORE;
        c->since_ms = now_ms;
        c->in_len = c->sent = 0;
    }
}

bool listen_client_needs_figures(const struct listen_client *c)
{
    return c->route == LISTEN_METRICS || c->route == LISTEN_HEALTHZ ||
           c->route == LISTEN_READYZ;
}

void listen_client_receive(struct listen_client *c)
{
    ssize_t n = read(c->fd, c->in + c->in_len, LISTEN_REQUEST_MAX - c->in_len);
    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            listen_client_drop(c);
        }
        return;
    }
    c->in_len += (size_t)n;
    c->route = listen_request(c->in, c->in_len);
    if (c->route == LISTEN_MORE && c->in_len == LISTEN_REQUEST_MAX) {
        c->route = LISTEN_BAD;
    }
}

void listen_client_transmit(struct listen_client *c)
{
    ssize_t n = send(c->fd, c->out.data + c->sent, c->out.len - c->sent, MSG_NOSIGNAL);
    c->sent += n > 0 ? (size_t)n : 0;
    if ((n < 0 && errno != EAGAIN && errno != EINTR) || c->sent == c->out.len) {
        listen_client_drop(c);
    }
}

int listen_clients_timeout_ms(const struct listen_client client[LISTEN_CLIENTS_MAX],
                              uint64_t now_ms)
{
    int ms = -1;
    for (unsigned i = 0; i < LISTEN_CLIENTS_MAX; i++) {
        const struct listen_client *c = &client[i];
        bool waits = listen_client_needs_figures(c) && !c->out.len;
        uint64_t end = c->since_ms + (waits ? LISTEN_ASKED_MS : LISTEN_CLIENT_MS);
        if (c->fd >= 0) {
            int left = end > now_ms ? (int)(end - now_ms) : 0;
            ms = ms < 0 || left < ms ? left : ms;
        }
    }
    return ms;
}
