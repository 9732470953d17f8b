/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock rules for ports. */
#include "agent/confine_ports.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/address.h"

uint16_t confine_port_of(const char *url, uint16_t fallback)
{
    const char *scheme = strstr(url, "://");
    const char *host = scheme ? scheme + 3 : url;
    size_t len = strcspn(host, "/?#");
    const char *colon = memrchr(host, ':', len);
    const char *bracket = memrchr(host, ']', len);
    if (strncasecmp(url, "https://", 8) == 0) {
        fallback = 443;
    }
    unsigned long port =
        colon && (!bracket || colon > bracket) ? strtoul(colon + 1, NULL, 10) : fallback;
    return port > 0 && port <= UINT16_MAX ? (uint16_t)port : fallback;
}

void confine_allow_ports(struct landlock *rules, const struct options *o)
{
    static const char *const env[] = {"https_proxy", "HTTPS_PROXY", "all_proxy",
                                      "ALL_PROXY"};
    struct address listen;
    landlock_allow_port(rules, confine_port_of(o->host ? o->host : "", 80),
                        LANDLOCK_CONNECT);
    if (o->proxy && *o->proxy) {
        landlock_allow_port(rules, confine_port_of(o->proxy, 1080), LANDLOCK_CONNECT);
    }
    for (size_t i = 0; i < sizeof env / sizeof env[0]; i++) {
        const char *proxy = getenv(env[i]);
        if (proxy && *proxy && (!o->proxy || !*o->proxy)) {
            landlock_allow_port(rules, confine_port_of(proxy, 1080), LANDLOCK_CONNECT);
            break;
        }
    }
    landlock_allow_port(rules, 53, LANDLOCK_CONNECT);
    if (o->listen && *o->listen && !address_parse(o->listen, &listen)) {
        landlock_allow_port(rules, listen.port, LANDLOCK_BIND);
    }
}
