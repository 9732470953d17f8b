/* SPDX-License-Identifier: Apache-2.0 */
/* Normalises the URL of an origin and hashes its key. */
#include "upload/http/origin_identity.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The length of \p host without a port that the scheme implies. */
static size_t host_without_port(const char *host, size_t len, const char *port)
{
    size_t port_len = strlen(port);
    return len > port_len && memcmp(host + len - port_len, port, port_len) == 0
               ? len - port_len
               : len;
}

void origin_identity_make(const char *prefix, const char *token,
                          struct origin_identity *out)
{
    const char *host = strstr(prefix, "://");
    host = host ? host + 3 : prefix;
    const char *path = host + strcspn(host, "/");
    const char *port = strncasecmp(prefix, "https:", 6) == 0 ? ":443" : ":80";
    size_t len = host_without_port(host, (size_t)(path - host), port);
    snprintf(out->url, sizeof out->url, "%.*s%.*s%s", (int)(host - prefix), prefix,
             (int)len, host, path);
    for (char *c = out->url; c < out->url + (host - prefix) + len; c++) {
        *c = (char)tolower((unsigned char)*c);
    }
    const char *key = token ? token : "";
    struct sha256_part part = {key, strlen(key)};
    sha256(&part, 1, out->key);
}
