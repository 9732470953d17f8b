/* SPDX-License-Identifier: Apache-2.0 */
/* Socket addresses as people write them: ADDRESS:PORT. */
#ifndef GPUFL_BASE_ADDRESS_H
#define GPUFL_BASE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/** `ADDRESS:PORT` with a numeric address of either family, IPv6 in brackets. */
struct address {
    char host[64]; /**< without brackets */
    uint16_t port; /**< 0 = any free one */
    struct sockaddr_storage sock;
    socklen_t sock_len;
};

/** \return NULL, or what to write instead. */
const char *address_parse(const char *text, struct address *out);

/** True when only programs of this host can reach \p address. */
bool address_is_loopback(const struct address *address);

#endif
