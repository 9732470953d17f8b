/* SPDX-License-Identifier: Apache-2.0 */
/* Parses numeric socket addresses. */
#include "base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static bool set_sock(struct address *a)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(a->port)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(a->port)};
    if (inet_pton(AF_INET, a->host, &in.sin_addr) == 1) {
        a->sock_len = sizeof in;
        memcpy(&a->sock, &in, sizeof in);
    } else if (inet_pton(AF_INET6, a->host, &in6.sin6_addr) == 1) {
        a->sock_len = sizeof in6;
        memcpy(&a->sock, &in6, sizeof in6);
    }
    return a->sock_len > 0;
}

/* Nobody can connect to it. */
static bool is_of_several(const struct address *a)
{
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    if (a->sock.ss_family == AF_INET) {
        memcpy(&in, &a->sock, sizeof in);
        uint32_t number = ntohl(in.sin_addr.s_addr);
        return number == INADDR_BROADCAST || IN_MULTICAST(number);
    }
    memcpy(&in6, &a->sock, sizeof in6);
    return IN6_IS_ADDR_MULTICAST(&in6.sin6_addr);
}

const char *address_parse(const char *text, struct address *out)
{
    const char *colon = strrchr(text, ':');
    const char *host = text;
    size_t len = colon ? (size_t)(colon - text) : 0;
    char *end = NULL;
    memset(out, 0, sizeof *out);
    bool brackets = len > 2 && host[0] == '[' && host[len - 1] == ']';
    if (brackets) {
        host++;
        len -= 2;
    }
    if (brackets != (len && memchr(host, ':', len))) { /* ::1:0 is an address, too */
        return "expected an IPv6 address in brackets, and no other, such as [::1]:9464";
    }
    bool digits = colon && colon[1] >= '0' && colon[1] <= '9';
    unsigned long port = digits ? strtoul(colon + 1, &end, 10) : 0;
    if (!digits || *end || port > UINT16_MAX || len == 0 || len >= sizeof out->host) {
        return "expected ADDRESS:PORT, such as 127.0.0.1:9464";
    }
    memcpy(out->host, host, len);
    out->port = (uint16_t)port;
    return !set_sock(out)       ? "expected a numeric IP address, such as 127.0.0.1:9464"
           : is_of_several(out) ? "expected the address of an interface, such as "
                                  "127.0.0.1:9464"
                                : NULL;
}

bool address_is_loopback(const struct address *address)
{
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    if (address->sock.ss_family == AF_INET) {
        memcpy(&in, &address->sock, sizeof in);
        return ntohl(in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    memcpy(&in6, &address->sock, sizeof in6);
    return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr) &&
            in6.sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
}
