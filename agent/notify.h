/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the state of the service to systemd, by datagrams to $NOTIFY_SOCKET:
 * https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html. Without that
 * variable nothing happens. */
#ifndef GPUFL_AGENT_NOTIFY_H
#define GPUFL_AGENT_NOTIFY_H

#include <stdint.h>

struct notify {
    int fd;               /**< -1 = not run by systemd */
    uint64_t watchdog_ms; /**< 0 = none; a sign of life is due this often */
    uint64_t watchdog_at_ms;
    uint64_t status_at_ms;
    char status[256]; /**< what was sent last */
};

/** Reads the environment; the socket stays connected. */
void notify_open(struct notify *notify);

/** One datagram of assignments, newline between them. Never blocks. */
void notify_send(const struct notify *notify, const char *text);

/** Sends STATUS=\p status unless it was sent last time. */
void notify_status(struct notify *notify, const char *status);

void notify_close(struct notify *notify);

#endif
