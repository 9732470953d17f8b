/* SPDX-License-Identifier: Apache-2.0 */
/* bench-sink: one thread, epoll, HTTP/1.1 or TLS. Prints its port, then at each SIGUSR1
 * and at SIGTERM what came since the last time. Usage: sink [--delay-ms N] [--latency]
 * [--tls CERTIFICATE.pem KEY.pem] */
#include "tests/bench/sink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <openssl/ssl.h>

#define CONNECTIONS_MAX 4096
#define READ_BYTES      (256u << 10)
#define LATER_MAX       65536u

struct connection {
    int fd;
    SSL *tls;
    struct sink_parser parser;
};

/* Replies that wait for their time, in order: the delay is the same for all. */
struct later {
    uint64_t at_ns;
    int fd;
    char *text;
};

static struct {
    int listener;
    int signals;
    int epoll;
    uint64_t delay_ns;
    bool latency;
    SSL_CTX *tls;
    struct sink_counts counts;
    struct connection *connection[CONNECTIONS_MAX];
    struct later later[LATER_MAX];
    unsigned first_later, end_later;
    char buffer[READ_BYTES];
} sink;

static void fail(const char *what)
{
    fprintf(stderr, "sink: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void watch(int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(sink.epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
        fail("epoll_ctl");
    }
}

static void hang_up(struct connection *c)
{
    sink.connection[c->fd] = NULL;
    SSL_free(c->tls);
    close(c->fd);
    free(c->parser.body);
    free(c);
}

/* Replies are small: they fit into what the socket holds. */
static void write_reply(int fd, const char *text)
{
    struct connection *c = sink.connection[fd];
    if (c && c->tls) {
        SSL_write(c->tls, text, (int)strlen(text));
    } else if (c && write(fd, text, strlen(text)) < 0 && errno != EPIPE) {
        fail("write");
    }
}

static void answer(void *arg, const char *text)
{
    const struct connection *c = arg;
    if (!sink.delay_ns) {
        write_reply(c->fd, text);
        return;
    }
    sink.later[sink.end_later++ % LATER_MAX] = (struct later){
        .at_ns = now_ns() + sink.delay_ns, .fd = c->fd, .text = strdup(text)};
}

static int answer_what_is_due(void)
{
    uint64_t now = now_ns();
    while (sink.first_later != sink.end_later) {
        struct later *l = &sink.later[sink.first_later % LATER_MAX];
        if (l->at_ns > now) {
            return (int)((l->at_ns - now + 999999) / 1000000);
        }
        write_reply(l->fd, l->text);
        free(l->text);
        sink.first_later++;
    }
    return -1;
}

static void take_connection(void)
{
    int one = 1;
    int fd = accept4(sink.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 || fd >= CONNECTIONS_MAX) {
        fail("accept");
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct connection *c = calloc(1, sizeof *c);
    if (!c) {
        abort();
    }
    c->fd = fd;
    if (sink.tls) {
        c->tls = SSL_new(sink.tls);
        SSL_set_fd(c->tls, fd);
        SSL_set_accept_state(c->tls);
    }
    sink.counts.connections++;
    sink.connection[fd] = c;
    watch(fd);
}

/* \return bytes; 0 when nothing is there now; -1 at the end. */
static ssize_t read_some(struct connection *c)
{
    if (c->tls) {
        int n = SSL_read(c->tls, sink.buffer, sizeof sink.buffer);
        return n > 0 ? n : SSL_get_error(c->tls, n) == SSL_ERROR_WANT_READ ? 0 : -1;
    }
    ssize_t n = read(c->fd, sink.buffer, sizeof sink.buffer);
    return n > 0 ? n : n < 0 && errno == EAGAIN ? 0 : -1;
}

static void serve(struct connection *c)
{
    ssize_t n;
    while ((n = read_some(c)) > 0) {
        if (!sink_take(&c->parser, &sink.counts, sink.latency, sink.buffer, (size_t)n,
                       answer, c)) {
            n = -1;
            break;
        }
        if (!c->tls && (size_t)n < sizeof sink.buffer) {
            return;
        }
    }
    if (n < 0) {
        hang_up(c);
    }
}

static void on_signal(void)
{
    struct signalfd_siginfo info;
    if (read(sink.signals, &info, sizeof info) == (ssize_t)sizeof info) {
        sink_report(&sink.counts);
        if (info.ssi_signo == SIGTERM) {
            exit(0);
        }
    }
}

static void open_sockets(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    sink.epoll = epoll_create1(EPOLL_CLOEXEC);
    sink.signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    sink.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(sink.listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(sink.listener, 1024) < 0 ||
        getsockname(sink.listener, (struct sockaddr *)&address, &len) < 0) {
        fail("listen");
    }
    watch(sink.listener);
    watch(sink.signals);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
}

static void read_options(char **argument)
{
    while (*++argument) {
        if (strcmp(*argument, "--latency") == 0) {
            sink.latency = true;
        } else if (strcmp(*argument, "--delay-ms") == 0 && argument[1]) {
            sink.delay_ns = strtoull(*++argument, NULL, 10) * 1000000;
        } else if (strcmp(*argument, "--tls") == 0 && argument[1] && argument[2]) {
            sink.tls = SSL_CTX_new(TLS_server_method());
            if (SSL_CTX_use_certificate_chain_file(sink.tls, argument[1]) != 1 ||
                SSL_CTX_use_PrivateKey_file(sink.tls, argument[2], SSL_FILETYPE_PEM) !=
                    1) {
                fail("certificate");
            }
            argument += 2;
        } else {
            fprintf(stderr, "sink: unknown option %s\n", *argument);
            exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    read_options(argv);
    open_sockets();
    for (;;) {
        struct epoll_event event[64];
        int n = epoll_wait(sink.epoll, event, 64, answer_what_is_due());
        for (int i = 0; i < n; i++) {
            int fd = event[i].data.fd;
            if (fd == sink.listener) {
                take_connection();
            } else if (fd == sink.signals) {
                on_signal();
            } else if (sink.connection[fd]) {
                serve(sink.connection[fd]);
            }
        }
    }
}
