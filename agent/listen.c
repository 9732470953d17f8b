/* SPDX-License-Identifier: Apache-2.0 */
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

#include "agent/listen_request.h"
#include "base/sys.h"

#define CLIENTS_MAX   8u
#define REQUEST_MAX   2048u
#define HEAD_MAX      256u
#define CLIENT_MS     5000u  /* from its first byte to our last */
#define LOOP_ASKED_MS 1000u  /* so long an answer waits for the loop */
#define LOOP_HANGS_MS 30000u /* longer than that without a turn is no health */

struct client {
    int fd; /* -1 = free */
    enum listen_route route;
    uint64_t since_ms;
    size_t in_len;
    size_t out_len;
    size_t sent;
    char in[REQUEST_MAX];
    char out[HEAD_MAX + LISTEN_TEXT_MAX];
};

struct listener {
    void (*wake)(void *arg);
    void *arg;
    pthread_t thread;
    int socket;
    int event; /* the loop has told, or it is the end */
    struct client client[CLIENTS_MAX];
    pthread_mutex_t lock; /* of what follows */
    bool stop;
    bool asked;
    uint64_t told; /* times */
    uint64_t turned_ms;
    struct listen_figures figures;
};

/* ---- answers ---- */

static void answer(struct client *c, const char *status, const char *type,
                   const char *text)
{
    size_t len = strlen(text);
    int head = snprintf(c->out, HEAD_MAX,
                        "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
                        "Connection: close\r\nCache-Control: no-store\r\n\r\n",
                        status, type, len,
                        strncmp(status, "405", 3) == 0 ? "Allow: GET\r\n" : "");
    memcpy(c->out + head, text, len);
    c->out_len = (size_t)head + len;
}

#define PLAIN "text/plain; charset=utf-8"

static void answer_health(struct client *c, uint64_t silent_ms)
{
    char text[64];
    if (silent_ms < LOOP_HANGS_MS) {
        answer(c, "200 OK", PLAIN, "ok\n");
        return;
    }
    snprintf(text, sizeof text, "the loop has not turned for %llu s\n",
             (unsigned long long)silent_ms / 1000);
    answer(c, "503 Service Unavailable", PLAIN, text);
}

static void answer_ready(struct client *c, const struct listener *l, uint64_t silent_ms)
{
    char text[sizeof l->figures.not_ready + 2];
    if (silent_ms >= LOOP_HANGS_MS || l->told == 0) {
        answer_health(c, LOOP_HANGS_MS > silent_ms ? LOOP_HANGS_MS : silent_ms);
    } else if (l->figures.not_ready[0]) {
        snprintf(text, sizeof text, "%s\n", l->figures.not_ready);
        answer(c, "503 Service Unavailable", PLAIN, text);
    } else {
        answer(c, "200 OK", PLAIN, "ready\n");
    }
}

/* With the lock held. */
static void answer_route(struct listener *l, struct client *c, uint64_t now_ms)
{
    uint64_t silent_ms = now_ms > l->turned_ms ? now_ms - l->turned_ms : 0;
    switch (c->route) {
    case LISTEN_METRICS:
        answer(c, l->told ? "200 OK" : "503 Service Unavailable",
               l->told ? "text/plain; version=0.0.4; charset=utf-8" : PLAIN,
               l->told ? l->figures.metrics : "not started yet\n");
        break;
    case LISTEN_HEALTHZ:
        answer_health(c, silent_ms);
        break;
    case LISTEN_READYZ:
        answer_ready(c, l, silent_ms);
        break;
    case LISTEN_NOT_FOUND:
        answer(c, "404 Not Found", PLAIN, "here are /metrics, /healthz and /readyz\n");
        break;
    case LISTEN_NOT_GET:
        answer(c, "405 Method Not Allowed", PLAIN, "GET only\n");
        break;
    case LISTEN_MORE:
    case LISTEN_BAD:
        answer(c, "400 Bad Request", PLAIN, "this is no HTTP request\n");
        break;
    }
}

/* ---- clients ---- */

static void drop(struct client *c)
{
    if (c->fd >= 0) {
        close(c->fd);
    }
    c->fd = -1;
}

static void take(struct listener *l, uint64_t now_ms)
{
    struct client *c = l->client;
    for (unsigned i = 0; i < CLIENTS_MAX && c->fd >= 0;
         i++) { /* a free one, or the oldest */
        struct client *other = &l->client[i];
        c = other->fd < 0 || other->since_ms < c->since_ms ? other : c;
    }
    int fd = accept4(l->socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        drop(c);
        c->fd = fd;
        c->route = LISTEN_MORE;
        c->since_ms = now_ms;
        c->in_len = c->out_len = c->sent = 0;
    }
}

static bool needs_figures(const struct client *c)
{
    return c->route == LISTEN_METRICS || c->route == LISTEN_HEALTHZ ||
           c->route == LISTEN_READYZ;
}

static void receive(struct listener *l, struct client *c)
{
    ssize_t n = read(c->fd, c->in + c->in_len, REQUEST_MAX - c->in_len);
    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            drop(c);
        }
        return;
    }
    c->in_len += (size_t)n;
    c->route = listen_request(c->in, c->in_len);
    if (c->route == LISTEN_MORE && c->in_len == REQUEST_MAX) {
        c->route = LISTEN_BAD;
    }
    if (needs_figures(c)) {
        pthread_mutex_lock(&l->lock);
        l->asked = true;
        pthread_mutex_unlock(&l->lock);
        l->wake(l->arg);
    }
}

static void transmit(struct client *c)
{
    ssize_t n = send(c->fd, c->out + c->sent, c->out_len - c->sent, MSG_NOSIGNAL);
    c->sent += n > 0 ? (size_t)n : 0;
    if ((n < 0 && errno != EAGAIN && errno != EINTR) || c->sent == c->out_len) {
        drop(c);
    }
}

/* Answers those that wait for nothing any more; drops those whose time is over. */
static void advance(struct listener *l, uint64_t now_ms)
{
    pthread_mutex_lock(&l->lock);
    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        struct client *c = &l->client[i];
        bool waits = needs_figures(c) && l->asked && now_ms - c->since_ms < LOOP_ASKED_MS;
        if (c->fd >= 0 && c->route != LISTEN_MORE && !c->out_len && !waits) {
            answer_route(l, c, now_ms);
        }
        if (c->fd >= 0 && now_ms - c->since_ms >= CLIENT_MS) {
            drop(c);
        }
    }
    pthread_mutex_unlock(&l->lock);
}

static int timeout_ms(const struct listener *l, uint64_t now_ms)
{
    int ms = -1;
    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        const struct client *c = &l->client[i];
        uint64_t limit = needs_figures(c) && !c->out_len ? LOOP_ASKED_MS : CLIENT_MS;
        uint64_t end = c->since_ms + limit;
        if (c->fd >= 0) {
            int left = end > now_ms ? (int)(end - now_ms) : 0;
            ms = ms < 0 || left < ms ? left : ms;
        }
    }
    return ms;
}

static void *serve(void *arg)
{
    struct listener *l = arg;
    struct pollfd at[CLIENTS_MAX + 2];
    uint64_t drained;
    for (bool stop = false; !stop;) {
        at[0] = (struct pollfd){.fd = l->event, .events = POLLIN};
        at[1] = (struct pollfd){.fd = l->socket, .events = POLLIN};
        for (unsigned i = 0; i < CLIENTS_MAX; i++) {
            struct client *c = &l->client[i];
            short events = c->out_len ? POLLOUT : c->route == LISTEN_MORE ? POLLIN : 0;
            at[i + 2] = (struct pollfd){.fd = c->fd, .events = events};
        }
        poll(at, CLIENTS_MAX + 2, timeout_ms(l, sys_real.now_ms()));
        if (at[0].revents && read(l->event, &drained, sizeof drained) < 0) {
            continue; /* it was somebody else's wakeup */
        }
        for (unsigned i = 0; i < CLIENTS_MAX; i++) {
            if (at[i + 2].revents && l->client[i].out_len) {
                transmit(&l->client[i]);
            } else if (at[i + 2].revents & (POLLIN | POLLERR | POLLHUP)) {
                receive(l, &l->client[i]);
            }
        }
        if (at[1].revents) {
            take(l, sys_real.now_ms());
        }
        advance(l, sys_real.now_ms());
        pthread_mutex_lock(&l->lock);
        stop = l->stop;
        pthread_mutex_unlock(&l->lock);
    }
    return NULL;
}

/* ---- for the loop ---- */

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
        return &l->figures; /* the lock is given back by listener_tell */
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static void poke(struct listener *l)
{
    uint64_t one = 1;
    ssize_t written = write(l->event, &one, sizeof one);
    (void)written; /* full is poked, too */
}

void listener_tell(struct listener *l)
{
    l->asked = false;
    l->told++;
    pthread_mutex_unlock(&l->lock);
    poke(l);
}

/* ---- life ---- */

static gpufl_status open_socket(struct listener *l, const struct address *address,
                                char why[512])
{
    int on = 1;
    l->socket =
        socket(address->sock.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (l->socket >= 0) {
        setsockopt(l->socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    }
    if (l->socket < 0 ||
        bind(l->socket, (const struct sockaddr *)&address->sock, address->sock_len) < 0 ||
        listen(l->socket, CLIENTS_MAX) < 0) {
        snprintf(why, 512, "cannot listen on %s port %u: %s", address->host,
                 address->port, strerror(errno));
        return GPUFL_ERR_IO;
    }
    return GPUFL_OK;
}

gpufl_status listener_open(const char *text, void (*wake)(void *arg), void *arg,
                           struct listener **out, char why[512])
{
    struct address address;
    const char *way_out = address_parse(text, &address);
    *out = NULL;
    if (way_out) {
        snprintf(why, 512, "--listen \"%.100s\": %s", text, way_out);
        return GPUFL_ERR_USAGE;
    }
    struct listener *l = calloc(1, sizeof *l);
    if (!l) {
        snprintf(why, 512, "out of memory");
        return GPUFL_ERR_NOMEM;
    }
    l->wake = wake;
    l->arg = arg;
    l->turned_ms = sys_real.now_ms();
    pthread_mutex_init(&l->lock, NULL);
    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        l->client[i].fd = -1;
    }
    l->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    gpufl_status status = open_socket(l, &address, why);
    if (status == GPUFL_OK &&
        (l->event < 0 || pthread_create(&l->thread, NULL, serve, l) != 0)) {
        snprintf(why, 512, "no thread for --listen: %s", strerror(errno));
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
    poke(l);
    pthread_join(l->thread, NULL);
    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        drop(&l->client[i]);
    }
    close(l->socket);
    close(l->event);
    pthread_mutex_destroy(&l->lock);
    free(l);
}
