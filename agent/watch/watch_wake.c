/* SPDX-License-Identifier: Apache-2.0 */
/* Polls two descriptors. */
#include "agent/watch/watch_wake.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

int watch_wake_next_fd(void)
{
    int fd = eventfd(0, EFD_CLOEXEC);
    if (fd >= 0) {
        close(fd);
    }
    return fd;
}

bool watch_wake_open(struct watch_wake *wake, int inotify)
{
    bool known = inotify >= 0 && fcntl(inotify, F_GETFD) >= 0;
    *wake = (struct watch_wake){.inotify = known ? inotify : -1,
                                .event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    return wake->event >= 0;
}

void watch_wake_up(const struct watch_wake *wake)
{
    (void)eventfd_write(wake->event, 1);
}

int watch_wake_wait(const struct watch_wake *wake, int wait_s)
{
    struct pollfd fds[] = {{.fd = wake->event, .events = POLLIN},
                           {.fd = wake->inotify, .events = POLLIN}};
    if (wake->inotify < 0) {
        return wait_s;
    }
    (void)poll(fds, 2, wait_s * 1000);
    return 0;
}

void watch_wake_close(struct watch_wake *wake)
{
    if (wake->event >= 0) {
        close(wake->event);
    }
}
