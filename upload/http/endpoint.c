/* SPDX-License-Identifier: Apache-2.0 */
/* Joins backend URL and API path; refuses what could send the key elsewhere. */
#include "upload/http/endpoint.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/message.h"
#include "schema/protocol.h"
#include "upload/http/host_port.h"

static bool url_text_ok(const char *text)
{
    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c <= 0x20 || *c == 0x7f || *c == '"' || *c == '\\') {
            return false;
        }
    }
    return true;
}

static bool percent_ok(const char *text)
{
    static const char hex[] = "0123456789abcdefABCDEF";
    for (const char *c = strchr(text, '%'); c; c = strchr(c + 1, '%')) {
        if (strspn(c + 1, hex) < 2) {
            return false;
        }
    }
    return true;
}

/* `.` and `..`, which what forwards a request resolves, also where they are encoded. */
static bool is_dots(const char *part, size_t len)
{
    size_t dots = 0;
    for (size_t at = 0; at < len; dots++) {
        bool encoded = len - at >= 3 && strncasecmp(part + at, "%2e", 3) == 0;
        if (!encoded && part[at] != '.') {
            return false;
        }
        at += encoded ? 3 : 1;
    }
    return dots == 1 || dots == 2;
}

/* One slash at the beginning, and any at the end, say nothing. */
static const char *parts_fault(const char *path)
{
    path += *path == '/';
    if (*path == '/' && path[strspn(path, "/")]) {
        return "has an empty part";
    }
    path += strspn(path, "/");
    while (*path) {
        size_t len = strcspn(path, "/");
        if (is_dots(path, len)) {
            return "has a part '.' or '..'";
        }
        path += len + (path[len] == '/');
        if (*path == '/' && path[strspn(path, "/")]) {
            return "has an empty part";
        }
        path += strspn(path, "/");
    }
    return NULL;
}

static const char *path_fault(const char *path)
{
    return !url_text_ok(path) || strpbrk(path, "?#")
               ? "contains a blank, a quote, '?' or '#'"
           : percent_ok(path) ? parts_fault(path)
                              : "contains '%' without two hexadecimal digits";
}

bool endpoint_path_ok(const char *path)
{
    return !path_fault(path);
}

/* \p url is known to have a host. */
static gpufl_status check_url(const struct transport_http_config *config, const char *url,
                              const char *path, char why[256])
{
    const char *host = strstr(url, "://") ? strstr(url, "://") + 3 : url;
    size_t host_len = strcspn(host, "/?#");
    size_t slashes = strspn(host + host_len, "/");
    const char *url_name = http_config_name(config, "backend_url");
    const char *path_name = http_config_name(config, "api_path");
    if (memchr(host, '@', host_len)) { /* not shown: it may hold a password */
        snprintf(why, 256, "%s: contains a user name (expected scheme://host[:port])",
                 url_name);
        return GPUFL_ERR_USAGE;
    }
    if (!url_text_ok(url)) {
        snprintf(why, 256,
                 "%s: '%.*s%s': contains a blank or a quote (expected "
                 "scheme://host[:port])",
                 url_name, MESSAGE_VALUE(url, 100));
        return GPUFL_ERR_USAGE;
    }
    const char *fault = path_fault(path);
    if (fault) {
        snprintf(why, 256, "%s: '%.*s%s': %s (expected a path such as %s)", path_name,
                 MESSAGE_VALUE(path, 100), fault, PROTOCOL_DEFAULT_API_PATH);
        return GPUFL_ERR_USAGE;
    }
    fault = host_port_fault(host, host_len);
    if (fault) {
        snprintf(why, 256, "%s: '%.*s%s': %s (expected scheme://host[:port])", url_name,
                 MESSAGE_VALUE(url, 100), fault);
        return GPUFL_ERR_USAGE;
    }
    if (strpbrk(host + host_len, "?#")) {
        snprintf(why, 256,
                 "%s: '%.*s%s': contains '?' or '#' (expected scheme://host[:port])",
                 url_name, MESSAGE_VALUE(url, 100));
        return GPUFL_ERR_USAGE;
    }
    fault = path_fault(host + host_len);
    if (fault) {
        snprintf(why, 256, "%s: '%.*s%s': its path %s (expected scheme://host[:port])",
                 url_name, MESSAGE_VALUE(url, 100), fault);
        return GPUFL_ERR_USAGE;
    }
    if (host[host_len + slashes]) {
        snprintf(why, 256, "%s: '%.*s%s': contains a path (give it as %s)", url_name,
                 MESSAGE_VALUE(url, 100), path_name);
        return GPUFL_ERR_USAGE;
    }
    return GPUFL_OK;
}

gpufl_status endpoint_prefix(const struct transport_http_config *config, char out[512],
                             char why[256])
{
    const char *url = config->backend_url ? config->backend_url : "";
    const char *path = config->api_path ? config->api_path : "";
    bool secure = !http_config_is_plain(url);
    bool plain = strncasecmp(url, "http://", 7) == 0;
    const char *host = secure ? url + 8 : plain ? url + 7 : url;
    size_t host_len = strcspn(host, "/?#");
    if (host_len == 0 || (!secure && !plain && strstr(url, "://"))) {
        snprintf(why, 256,
                 "%s: '%.*s%s': not an http or https address (expected "
                 "scheme://host[:port])",
                 http_config_name(config, "backend_url"), MESSAGE_VALUE(url, 100));
        return GPUFL_ERR_USAGE;
    }
    gpufl_status status = check_url(config, url, path, why);
    if (status != GPUFL_OK) {
        return status;
    }
    path += strspn(path, "/");
    size_t path_len = strlen(path);
    while (path_len > 0 && path[path_len - 1] == '/') {
        path_len--;
    }
    const char *scheme = secure ? "https://" : "http://";
    int n = path_len ? snprintf(out, 512, "%s%.*s/%.*s", scheme, (int)host_len, host,
                                (int)path_len, path)
                     : snprintf(out, 512, "%s%.*s%s", scheme, (int)host_len, host,
                                PROTOCOL_DEFAULT_API_PATH);
    if (n >= 512) {
        snprintf(why, 256,
                 "%s and %s: longer than 511 bytes together (give shorter ones)",
                 http_config_name(config, "backend_url"),
                 http_config_name(config, "api_path"));
        return GPUFL_ERR_USAGE;
    }
    return GPUFL_OK;
}
