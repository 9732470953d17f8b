/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that serves the clients, and its handshake with the loop. */
#include "agent/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/listen_client.h"
#include "base/sys.h"

struct listener {
    struct listen_wake wake;
    pthread_t thread;
    int socket;
    int event; /* figures are ready, or the thread must end */
    struct listen_client client[LISTEN_CLIENTS_MAX];
    pthread_mutex_t lock; /* of what follows */
    bool stop;
    bool asked;
    bool filled;
    uint64_t turned_ms;
    struct listen_figures figures;
};

static void receive_from(struct listener *l, struct listen_client *c)
{
    listen_client_receive(c);
    if (c->fd >= 0 && listen_client_needs_figures(c)) {
        pthread_mutex_lock(&l->lock);
        l->asked = true;
        pthread_mutex_unlock(&l->lock);
        l->wake.call(l->wake.arg);
    }
}

/* With the lock held. */
static void answer_client(struct listener *l, struct listen_client *c, uint64_t now_ms)
{
    struct listen_state state = {.figures = &l->figures, .filled = l->filled};
    state.silent_ms = now_ms > l->turned_ms ? now_ms - l->turned_ms : 0;
    listen_answer(c->route, &state, &c->out);
    if (c->out.failed) {
        listen_client_drop(c);
    }
}

/* Answers clients that need not wait for the loop, and drops those that took too long. */
static void answer_clients(struct listener *l, uint64_t now_ms)
{
    pthread_mutex_lock(&l->lock);
    for (unsigned i = 0; i < LISTEN_CLIENTS_MAX; i++) {
        struct listen_client *c = &l->client[i];
        bool waits = listen_client_needs_figures(c) && l->asked &&
                     now_ms - c->since_ms < LISTEN_ASKED_MS;
        if (c->fd >= 0 && c->route != LISTEN_MORE && !c->out.len && !waits) {
            answer_client(l, c, now_ms);
        }
        if (c->fd >= 0 && now_ms - c->since_ms >= LISTEN_CLIENT_MS) {
            listen_client_drop(c);
        }
    }
    pthread_mutex_unlock(&l->lock);
}

static void *serve_clients(void *arg)
{
    struct listener *l = arg;
    struct pollfd at[LISTEN_CLIENTS_MAX + 2];
    uint64_t drained;
    for (bool stop = false; !stop;) {
        at[0] = (struct pollfd){.fd = l->event, .events = POLLIN};
        at[1] = (struct pollfd){.fd = l->socket, .events = POLLIN};
        for (unsigned i = 0; i < LISTEN_CLIENTS_MAX; i++) {
            struct listen_client *c = &l->client[i];
            short events = c->out.len ? POLLOUT : c->route == LISTEN_MORE ? POLLIN : 0;
            at[i + 2] = (struct pollfd){.fd = c->fd, .events = events};
        }
        poll(at, LISTEN_CLIENTS_MAX + 2,
             listen_clients_timeout_ms(l->client, sys_real.now_ms()));
        if (at[0].revents && read(l->event, &drained, sizeof drained) < 0) {
            continue; /* nothing to read after all */
        }
        for (unsigned i = 0; i < LISTEN_CLIENTS_MAX; i++) {
            if (at[i + 2].revents && l->client[i].out.len) {
                listen_client_transmit(&l->client[i]);
            } else if (at[i + 2].revents & (POLLIN | POLLERR | POLLHUP)) {
                receive_from(l, &l->client[i]);
            }
        }
        if (at[1].revents) {
            listen_clients_accept(l->client, l->socket, sys_real.now_ms());
        }
        answer_clients(l, sys_real.now_ms());
        pthread_mutex_lock(&l->lock);
        stop = l->stop;
        pthread_mutex_unlock(&l->lock);
    }
    return NULL;
}

uint16_t listener_port(const struct listener *l)
{
    struct sockaddr_storage at;
    socklen_t len = sizeof at;
    if (getsockname(l->socket, (struct sockaddr *)&at, &len) < 0) {
        return 0;
    }
    return ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                          : ((struct sockaddr_in *)&at)->sin_port);
}

struct listen_figures *listener_turn(struct listener *l)
{
    if (!l) {
        return NULL;
    }
    pthread_mutex_lock(&l->lock);
    l->turned_ms = sys_real.now_ms();
    if (l->asked) {
        return &l->figures; /* listener_filled releases the lock */
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static void wake_thread(struct listener *l)
{
    uint64_t one = 1;
    ssize_t written = write(l->event, &one, sizeof one);
    (void)written; /* if the counter is full, the thread is awake anyway */
}

void listener_filled(struct listener *l)
{
    l->asked = false;
    l->filled = true;
    pthread_mutex_unlock(&l->lock);
    wake_thread(l);
}

static gpufl_status refuse_address(const struct address *address, char why[512])
{
    bool taken = errno == EADDRINUSE;
    snprintf(why, 512, "--listen: '%s:%u': %s%s", address->host, address->port,
             strerror(errno),
             taken ? " (stop the program that has it, or use another port)"
             : errno == EADDRNOTAVAIL ? " (use one of this host; see ip address)"
                                      : "");
    return taken ? GPUFL_BUSY : GPUFL_ERR_IO;
}

static gpufl_status bind_listen_socket(const struct address *address, int *out,
                                       char why[512])
{
    int on = 1;
    int fd =
        socket(address->sock.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    *out = fd;
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    }
    return fd < 0 || bind(fd, (const struct sockaddr *)&address->sock,
                          address->sock_len) < 0
               ? refuse_address(address, why)
               : GPUFL_OK;
}

gpufl_status listener_try(const struct address *address, char why[512])
{
    int fd;
    gpufl_status status = bind_listen_socket(address, &fd, why);
    if (fd >= 0) {
        close(fd);
    }
    return status;
}

static gpufl_status open_listen_socket(struct listener *l, const struct address *address,
                                       char why[512])
{
    gpufl_status status = bind_listen_socket(address, &l->socket, why);
    return status == GPUFL_OK && listen(l->socket, LISTEN_CLIENTS_MAX) < 0
               ? refuse_address(address, why)
               : status;
}

gpufl_status listener_open(const struct address *address, struct listen_wake wake,
                           struct listener **out, char why[512])
{
    *out = NULL;
    struct listener *l = calloc(1, sizeof *l);
    if (!l) {
        snprintf(why, 512, "out of memory");
        return GPUFL_ERR_NOMEM;
    }
    l->wake = wake;
    l->turned_ms = sys_real.now_ms();
    pthread_mutex_init(&l->lock, NULL);
    listen_clients_init(l->client);
    l->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    gpufl_status status = open_listen_socket(l, address, why);
    if (status == GPUFL_OK &&
        (l->event < 0 || pthread_create(&l->thread, NULL, serve_clients, l) != 0)) {
        snprintf(why, 512, "cannot start the thread of --listen: %s", strerror(errno));
        status = GPUFL_ERR_IO;
    }
    if (status == GPUFL_OK) {
        *out = l;
        return GPUFL_OK;
    }
    close(l->socket);
    close(l->event);
    free(l);
    return status;
}

void listener_close(struct listener *l)
{
    if (!l) {
        return;
    }
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_mutex_unlock(&l->lock);
    wake_thread(l);
    pthread_join(l->thread, NULL);
    for (unsigned i = 0; i < LISTEN_CLIENTS_MAX; i++) {
        listen_client_drop(&l->client[i]);
    }
    close(l->socket);
    close(l->event);
    text_fini(&l->figures.metrics);
    pthread_mutex_destroy(&l->lock);
    free(l);
}
