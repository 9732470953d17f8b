/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an address of either family. */
#include "backend/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

bool address_parse(const char *text, uint16_t port, struct sockaddr_storage *out)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, text, &in.sin_addr) == 1) {
        memcpy(out, &in, sizeof in);
        return true;
    }
    if (inet_pton(AF_INET6, text, &in6.sin6_addr) == 1) {
        memcpy(out, &in6, sizeof in6);
        return true;
    }
    return false;
}
