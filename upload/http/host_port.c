/* SPDX-License-Identifier: Apache-2.0 */
/* Checks names, IP addresses and ports by their form; nothing is resolved. */
#include "upload/http/host_port.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HOST_MAX  253u
#define LABEL_MAX 63u
#define PORT_MAX  65535

static const char *port_fault(const char *port, size_t len)
{
    char text[6] = "";
    if (len == 0 || len >= sizeof text) {
        return "the port is not a number from 1 to 65535";
    }
    memcpy(text, port, len);
    long number = strspn(text, "0123456789") == len ? strtol(text, NULL, 10) : 0;
    return number >= 1 && number <= PORT_MAX ? NULL
                                             : "the port is not a number from 1 to 65535";
}

static const char *ipv6_fault(const char *text, size_t len)
{
    char host[INET6_ADDRSTRLEN];
    struct in6_addr address;
    const char *zone = memchr(text, '%', len);
    len = zone ? (size_t)(zone - text) : len;
    if (len < sizeof host) {
        memcpy(host, text, len);
        host[len] = '\0';
        if (inet_pton(AF_INET6, host, &address) == 1) {
            return NULL;
        }
    }
    return "not an IPv6 address";
}

/* Letters beyond ASCII are left to the resolver. */
static bool host_byte_ok(char c)
{
    return isalnum((unsigned char)c) || strchr("-._", c) || (unsigned char)c >= 0x80;
}

static const char *name_fault(const char *name)
{
    struct in_addr address;
    for (const char *at = name; *at; at++) {
        if (!host_byte_ok(*at)) {
            return "the host contains a character that no name has";
        }
    }
    for (const char *label = name; *label; label += strcspn(label, ".") + 1) {
        size_t len = strcspn(label, ".");
        if (len == 0 || len > LABEL_MAX) {
            return "a part of the host name is empty or longer than 63 bytes";
        }
        if (!label[len]) {
            break;
        }
    }
    bool number = !name[strspn(name, "0123456789.")];
    return number && !inet_aton(name, &address) ? "not an IP address" : NULL;
}

const char *host_port_fault(const char *text, size_t len)
{
    char host[HOST_MAX + 1];
    const char *end = text + len;
    if (len > 0 && *text == '[') {
        const char *close = memchr(text, ']', len);
        if (!close || (close + 1 < end && close[1] != ':')) {
            return "the brackets of the IPv6 address are not closed";
        }
        const char *fault = ipv6_fault(text + 1, (size_t)(close - text - 1));
        return fault              ? fault
               : close + 1 == end ? NULL
                                  : port_fault(close + 2, (size_t)(end - close - 2));
    }
    const char *colon = memchr(text, ':', len);
    size_t host_len = colon ? (size_t)(colon - text) : len;
    if (colon && memchr(colon + 1, ':', (size_t)(end - colon - 1))) {
        return "more than one ':' (an IPv6 address needs brackets)";
    }
    if (host_len == 0 || host_len > HOST_MAX) {
        return host_len ? "the host name is longer than 253 bytes" : "no host name";
    }
    memcpy(host, text, host_len);
    host[host_len] = '\0';
    const char *fault = name_fault(host);
    return fault || !colon ? fault : port_fault(colon + 1, (size_t)(end - colon - 1));
}
