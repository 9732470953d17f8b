/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the state of the service to systemd, by datagrams to $NOTIFY_SOCKET:
 * https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html. Does nothing
 * if that variable is unset. */
#ifndef GPUFL_AGENT_NOTIFY_H
#define GPUFL_AGENT_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

struct notify {
    int fd;               /**< -1 = not run by systemd */
    uint64_t watchdog_ms; /**< 0 = none; interval of the keep-alive */
    uint64_t watchdog_at_ms;
    uint64_t status_at_ms;
    char status[256]; /**< what was sent last */
};

/** Reads the environment; the socket stays connected. \return false if a variable cannot
 * be used, which \p why then names: systemd is not told what it may wait for. */
bool notify_open(struct notify *notify, char why[512]);

/** Sends one datagram of assignments, separated by newlines. Never blocks. */
void notify_send(const struct notify *notify, const char *text);

/** Sends STATUS=\p status unless it was sent last time. */
void notify_status(struct notify *notify, const char *status);

void notify_close(struct notify *notify);

#endif
