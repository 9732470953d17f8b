/* SPDX-License-Identifier: Apache-2.0 */
/* Judges by an address who can read what is sent there. */
#include "upload/http/exposure.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

static enum exposure exposure_of_v4(uint32_t a)
{
    static const struct {
        uint32_t net;
        unsigned bits;
    } own[] = {{0x0a000000, 8},
               {0xac100000, 12},
               {0xc0a80000, 16},
               {0xa9fe0000, 16},
               {0x64400000, 10}};
    if (a >> 24 == 127) {
        return EXPOSURE_LOOPBACK;
    }
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if ((a ^ own[i].net) >> (32 - own[i].bits) == 0) {
            return EXPOSURE_PRIVATE;
        }
    }
    return EXPOSURE_PUBLIC;
}

static enum exposure exposure_of_v6(const struct in6_addr *a)
{
    const uint8_t *b = a->s6_addr;
    if (IN6_IS_ADDR_LOOPBACK(a)) {
        return EXPOSURE_LOOPBACK;
    }
    if (IN6_IS_ADDR_V4MAPPED(a)) {
        return exposure_of_v4((uint32_t)b[12] << 24 | (uint32_t)b[13] << 16 |
                              (uint32_t)b[14] << 8 | b[15]);
    }
    return (b[0] & 0xfe) == 0xfc || IN6_IS_ADDR_LINKLOCAL(a) ? EXPOSURE_PRIVATE
                                                             : EXPOSURE_PUBLIC;
}

static bool ends_in(const char *name, const char *end)
{
    size_t len = strlen(name);
    size_t end_len = strlen(end);
    return len > end_len && strcasecmp(name + len - end_len, end) == 0;
}

static enum exposure exposure_of_name(const char *name)
{
    static const char *const own[] = {".svc",   ".cluster.local", ".internal",
                                      ".local", ".lan",           ".home.arpa"};
    if (strcasecmp(name, "localhost") == 0 || ends_in(name, ".localhost")) {
        return EXPOSURE_LOOPBACK;
    }
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (ends_in(name, own[i])) {
            return EXPOSURE_PRIVATE;
        }
    }
    return strchr(name, '.') ? EXPOSURE_PUBLIC : EXPOSURE_PRIVATE;
}

/* Resolvers differ on unusual forms of an address (127.1, 0x7f.1): as a name that ends in
 * a number it counts as public. */
enum exposure exposure_of(const char *prefix)
{
    char host[256];
    struct in_addr v4;
    struct in6_addr v6;
    if (strncmp(prefix, "https://", 8) == 0) {
        return EXPOSURE_ENCRYPTED;
    }
    const char *at = prefix + strlen("http://");
    bool bracket = *at == '[';
    size_t len = strcspn(at + bracket, bracket ? "]" : ":/");
    while (!bracket && len > 0 && at[len - 1] == '.') {
        len--; /* a name's root */
    }
    if (len >= sizeof host) {
        return EXPOSURE_PUBLIC;
    }
    memcpy(host, at + bracket, len);
    host[len] = '\0';
    if (bracket) {
        host[strcspn(host, "%")] = '\0';
        return inet_pton(AF_INET6, host, &v6) == 1 ? exposure_of_v6(&v6)
                                                   : EXPOSURE_PUBLIC;
    }
    if (inet_pton(AF_INET, host, &v4) == 1) {
        return exposure_of_v4(ntohl(v4.s_addr));
    }
    bool number = strspn(host, "0123456789") == len || strncasecmp(host, "0x", 2) == 0;
    return number ? EXPOSURE_PUBLIC : exposure_of_name(host);
}
