/* SPDX-License-Identifier: Apache-2.0 */
/* Sends datagrams to the service manager. */
#include "agent/notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void notify_open(struct notify *n)
{
    const char *path = getenv("NOTIFY_SOCKET");
    const char *usec = getenv("WATCHDOG_USEC");
    const char *pid = getenv("WATCHDOG_PID");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = path ? strlen(path) : 0;
    *n = (struct notify){.fd = -1};
    if (len < 2 || len >= sizeof to.sun_path || (path[0] != '/' && path[0] != '@')) {
        return;
    }
    memcpy(to.sun_path, path, len);
    if (path[0] == '@') {
        to.sun_path[0] = '\0'; /* an abstract name */
    }
    n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    if (n->fd >= 0 && connect(n->fd, (struct sockaddr *)&to, to_len) < 0) {
        notify_close(n);
    }
    if (usec && (!pid || strtol(pid, NULL, 10) == getpid())) {
        n->watchdog_ms =
            strtoull(usec, NULL, 10) / 1000 / 2; /* twice as often as required */
    }
}

void notify_send(const struct notify *n, const char *text)
{
    if (n->fd >= 0) {
        ssize_t sent = send(n->fd, text, strlen(text), MSG_NOSIGNAL);
        (void)sent; /* it does not matter if systemd does not listen */
    }
}

void notify_status(struct notify *n, const char *status)
{
    char text[sizeof n->status + 16];
    if (n->fd < 0 || strcmp(n->status, status) == 0) {
        return;
    }
    snprintf(n->status, sizeof n->status, "%s", status);
    snprintf(text, sizeof text, "STATUS=%s", n->status);
    notify_send(n, text);
}

void notify_close(struct notify *n)
{
    if (n->fd >= 0) {
        close(n->fd);
    }
    n->fd = -1;
}
