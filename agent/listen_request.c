/* SPDX-License-Identifier: Apache-2.0 */
/* Reads method and path; of the rest only that it ends. */
#include "agent/listen_request.h"

#include <string.h>

static int is_word(const char *text, size_t len, const char *word)
{
    return len == strlen(word) && memcmp(text, word, len) == 0;
}

enum listen_route listen_request(const char *text, size_t len)
{
    if (!memmem(text, len, "\r\n\r\n", 4) && !memmem(text, len, "\n\n", 2)) {
        return LISTEN_MORE;
    }
    const char *line_end = memchr(text, '\n', len);
    const char *path = memchr(text, ' ', (size_t)(line_end - text));
    if (!path || path == text || path[1] != '/') {
        return LISTEN_BAD;
    }
    size_t method_len = (size_t)(path - text);
    const char *end = ++path;
    while (end < line_end && *end != ' ' && *end != '?' && *end != '\r') {
        end++;
    }
    size_t path_len = (size_t)(end - path);
    enum listen_route route = is_word(path, path_len, "/metrics")   ? LISTEN_METRICS
                              : is_word(path, path_len, "/healthz") ? LISTEN_HEALTHZ
                              : is_word(path, path_len, "/readyz")  ? LISTEN_READYZ
                                                                    : LISTEN_NOT_FOUND;
    return is_word(text, method_len, "GET") ? route : LISTEN_NOT_GET;
}
