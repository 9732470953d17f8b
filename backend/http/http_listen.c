/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the socket that the server listens on. */
#include "backend/http/http_listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *what_to_do(int error)
{
    return error == EADDRINUSE      ? " (stop the other server, or name another port)"
           : error == EADDRNOTAVAIL ? " (name an address of this host)"
           : error == EACCES        ? " (name a port from 1024 on)"
                                    : "";
}

/* Not SO_REUSEPORT: a second server would take a part of the requests. */
static bool listen_on(int fd, const struct address *address)
{
    const int on = 1;
    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
           (address->sock.ss_family != AF_INET6 ||
            setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) == 0) &&
           bind(fd, (const struct sockaddr *)&address->sock, address->sock_len) == 0 &&
           listen(fd, SOMAXCONN) == 0;
}

int http_listen(const struct address *address, char why[256])
{
    int fd =
        socket(address->sock.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || !listen_on(fd, address)) {
        int error = errno;
        bool six = address->sock.ss_family == AF_INET6;
        snprintf(why, 256, "%s%s%s:%u: cannot listen: %s%s", six ? "[" : "",
                 address->host, six ? "]" : "", address->port, strerror(error),
                 what_to_do(error));
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    return fd;
}
