/* SPDX-License-Identifier: Apache-2.0 */
/* Joins backend url and api path, refusing what would send the key elsewhere. */
#include "upload/http/endpoint.h"

#include <stdbool.h>
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
