/* SPDX-License-Identifier: Apache-2.0 */
/* Joins backend url and api path, refusing what would send the key elsewhere. */
#include "upload/http/endpoint.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "schema/protocol.h"

static bool url_text_ok(const char *text)
{
    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c <= 0x20 || *c == 0x7f || *c == '"' || *c == '\\') {
            return false;
        }
    }
    return true;
}

gpufl_status endpoint_prefix(const char *backend_url, const char *api_path, char out[512],
                             char why[256])
{
    const char *url = backend_url ? backend_url : "";
    const char *path = api_path ? api_path : "";
    bool secure = strncasecmp(url, "https://", 8) == 0;
    bool plain = strncasecmp(url, "http://", 7) == 0;
    const char *host = secure ? url + 8 : plain ? url + 7 : url;
    size_t host_len = strcspn(host, "/?#");
    size_t rest = strspn(host + host_len, "/");
    if (host_len == 0 || (!secure && !plain && strstr(url, "://"))) {
        snprintf(why, 256,
                 "backend url \"%.100s\" is no http or https address; give "
                 "scheme://host[:port]",
                 url);
        return GPUFL_ERR_USAGE;
    }
    if (!url_text_ok(url) || !url_text_ok(path) || strpbrk(path, "?#") ||
        memchr(host, '@', host_len)) {
        snprintf(why, 256,
                 "backend url or path holds a blank, a quote, a ? or a user name; give "
                 "scheme://host[:port] and the key apart");
        return GPUFL_ERR_USAGE;
    }
    if (host[host_len + rest]) {
        snprintf(why, 256,
                 "backend url \"%.100s\" has a path; give the host only, and the "
                 "path as api path",
                 url);
        return GPUFL_ERR_USAGE;
    }
    while (*path == '/') {
        path++;
    }
    size_t path_len = strlen(path);
    while (path_len > 0 && path[path_len - 1] == '/') {
        path_len--;
    }
    int n = path_len ? snprintf(out, 512, "%s%.*s/%.*s", secure ? "https://" : "http://",
                                (int)host_len, host, (int)path_len, path)
                     : snprintf(out, 512, "%s%.*s%s", secure ? "https://" : "http://",
                                (int)host_len, host, PROTOCOL_DEFAULT_API_PATH);
    if (n >= 512) {
        snprintf(why, 256, "backend url and path are longer than 511 bytes");
        return GPUFL_ERR_USAGE;
    }
    return GPUFL_OK;
}

/* ---- who could read along ---- */

static enum endpoint_exposure expose_v4(uint32_t a)
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
        return ENDPOINT_LOOPBACK;
    }
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if ((a ^ own[i].net) >> (32 - own[i].bits) == 0) {
            return ENDPOINT_PRIVATE;
        }
    }
    return ENDPOINT_PUBLIC;
}

static enum endpoint_exposure expose_v6(const struct in6_addr *a)
{
    const uint8_t *b = a->s6_addr;
    if (IN6_IS_ADDR_LOOPBACK(a)) {
        return ENDPOINT_LOOPBACK;
    }
    if (IN6_IS_ADDR_V4MAPPED(a)) {
        return expose_v4((uint32_t)b[12] << 24 | (uint32_t)b[13] << 16 |
                         (uint32_t)b[14] << 8 | b[15]);
    }
    return (b[0] & 0xfe) == 0xfc || IN6_IS_ADDR_LINKLOCAL(a) ? ENDPOINT_PRIVATE
                                                             : ENDPOINT_PUBLIC;
}

static bool ends_in(const char *name, const char *end)
{
    size_t len = strlen(name);
    size_t end_len = strlen(end);
    return len > end_len && strcasecmp(name + len - end_len, end) == 0;
}

static enum endpoint_exposure expose_name(const char *name)
{
    static const char *const own[] = {".svc",   ".cluster.local", ".internal",
                                      ".local", ".lan",           ".home.arpa"};
    if (strcasecmp(name, "localhost") == 0 || ends_in(name, ".localhost")) {
        return ENDPOINT_LOOPBACK;
    }
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (ends_in(name, own[i])) {
            return ENDPOINT_PRIVATE;
        }
    }
    return strchr(name, '.') ? ENDPOINT_PUBLIC : ENDPOINT_PRIVATE;
}

/* An address with dots in other than the usual form (127.1, 0x7f.1) is read by resolvers
 * in ways of their own: as a name that ends in a number it is public. */
enum endpoint_exposure endpoint_exposure(const char *prefix)
{
    char host[256];
    struct in_addr v4;
    struct in6_addr v6;
    if (strncmp(prefix, "https://", 8) == 0) {
        return ENDPOINT_ENCRYPTED;
    }
    const char *at = prefix + strlen("http://");
    bool bracket = *at == '[';
    size_t len = strcspn(at + bracket, bracket ? "]" : ":/");
    while (!bracket && len > 0 && at[len - 1] == '.') {
        len--; /* a name's root */
    }
    if (len >= sizeof host) {
        return ENDPOINT_PUBLIC;
    }
    memcpy(host, at + bracket, len);
    host[len] = '\0';
    if (bracket) {
        host[strcspn(host, "%")] = '\0';
        return inet_pton(AF_INET6, host, &v6) == 1 ? expose_v6(&v6) : ENDPOINT_PUBLIC;
    }
    if (inet_pton(AF_INET, host, &v4) == 1) {
        return expose_v4(ntohl(v4.s_addr));
    }
    bool number = strspn(host, "0123456789") == len || strncasecmp(host, "0x", 2) == 0;
    return number ? ENDPOINT_PUBLIC : expose_name(host);
}
