/* SPDX-License-Identifier: Apache-2.0 */
/* Judges the headers by which a browser tells whose page asks. */
#include "backend/http/http_site.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define LOCAL "localhost"

static const char *site_header(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static bool site_is_local_name(const char *name, size_t len)
{
    size_t local = sizeof LOCAL - 1;
    return len >= local && strncasecmp(name + len - local, LOCAL, local) == 0 &&
           (len == local || name[len - local - 1] == '.');
}

/* Often a name of 127.0.0.1. */
static bool site_is_host_name(const char *name)
{
    char own[256];
    return gethostname(own, sizeof own) == 0 && strcasecmp(own, name) == 0;
}

static bool site_is_here(const char *host)
{
    char name[256];
    struct in_addr v4;
    struct in6_addr v6;
    bool brackets = host[0] == '[';
    size_t len = strcspn(host + brackets, brackets ? "]" : ":");
    if (len == 0 || len >= sizeof name) {
        return false;
    }
    memcpy(name, host + brackets, len);
    name[len] = '\0';
    if (brackets) {
        return inet_pton(AF_INET6, name, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
    }
    return site_is_local_name(name, len) || site_is_host_name(name) ||
           (inet_pton(AF_INET, name, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127);
}

/* Our page only reads, and programs send neither header. */
static bool site_is_other(struct MHD_Connection *c)
{
    const char *from = site_header(c, "Sec-Fetch-Site");
    const char *origin = site_header(c, "Origin");
    const char *host = site_header(c, "Host");
    const char *name = origin ? strstr(origin, "://") : NULL;
    return (from && strcasecmp(from, "same-origin") != 0 &&
            strcasecmp(from, "none") != 0) ||
           (origin && (!name || !host || strcasecmp(name + 3, host) != 0));
}

const char *http_site_refuses(struct MHD_Connection *c, const char *method, bool any_host)
{
    const char *host = site_header(c, "Host");
    if (!any_host && host && !site_is_here(host)) {
        return "Host: not a name of this host, as without a key it has to be "
               "(use localhost, or start gpufl-backend with an API key)";
    }
    if (strcmp(method, "POST") == 0 && site_is_other(c)) {
        return "Origin: a page of another site may not send records";
    }
    return NULL;
}
