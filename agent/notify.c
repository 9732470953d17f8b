/* SPDX-License-Identifier: Apache-2.0 */
/* Sends datagrams to the service manager. */
#include "agent/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/message.h"

static bool notify_say(const char *name, const char *value, const char *reason,
                       char why[512])
{
    snprintf(why, 512,
             "%s: '%.*s%s': %s: systemd is not told (unset it where no systemd sets it)",
             name, MESSAGE_VALUE(value, 150), reason);
    return false;
}

/* \return false with the reason. */
static bool notify_connect(struct notify *n, const char *path, char why[512])
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    if (len < 2 || len >= sizeof to.sun_path || (path[0] != '/' && path[0] != '@')) {
        return notify_say("NOTIFY_SOCKET", path, "neither a path nor an abstract name",
                          why);
    }
    memcpy(to.sun_path, path, len);
    if (path[0] == '@') {
        to.sun_path[0] = '\0'; /* an abstract name */
    }
    n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    if (n->fd < 0 || connect(n->fd, (struct sockaddr *)&to, to_len) < 0) {
        const char *reason = strerror(errno);
        notify_close(n);
        return notify_say("NOTIFY_SOCKET", path, reason, why);
    }
    return true;
}

bool notify_open(struct notify *n, char why[512])
{
    const char *path = getenv("NOTIFY_SOCKET");
    const char *usec = getenv("WATCHDOG_USEC");
    const char *pid = getenv("WATCHDOG_PID");
    bool good = true;
    char *end;
    *n = (struct notify){.fd = -1};
    if (path && *path) {
        good = notify_connect(n, path, why);
    }
    if (usec && *usec && (!pid || strtol(pid, NULL, 10) == getpid())) {
        uint64_t value = strtoull(usec, &end, 10);
        n->watchdog_ms = value / 1000 / 2; /* twice as often as required */
        if (*end || *usec < '0' || *usec > '9' || !n->watchdog_ms) {
            n->watchdog_ms = 0;
            good = notify_say("WATCHDOG_USEC", usec,
                              "not a number of microseconds of 2000 or more", why);
        }
    }
    return good;
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
