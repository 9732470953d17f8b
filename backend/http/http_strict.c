/* SPDX-License-Identifier: Apache-2.0 */
/* Judges what libmicrohttpd lets pass. */
#include "backend/http/http_strict.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

struct framing {
    unsigned lengths, codings, hosts;
    bool chunked, space;
};

static enum MHD_Result note_header(void *arg, enum MHD_ValueKind kind, const char *key,
                                   size_t key_len, const char *value, size_t len)
{
    struct framing *f = arg;
    (void)kind;
    (void)len;
    f->space |= key_len > 0 && strchr(" \t", key[key_len - 1]);
    f->lengths += strcasecmp(key, "Content-Length") == 0;
    f->hosts += strcasecmp(key, "Host") == 0;
    if (strcasecmp(key, "Transfer-Encoding") == 0) {
        f->codings++;
        f->chunked = value && strcasecmp(value, "chunked") == 0;
    }
    return MHD_YES;
}

const char *http_strict_refuses(struct MHD_Connection *c, const char *version)
{
    struct framing f = {0};
    MHD_get_connection_values_n(c, MHD_HEADER_KIND, note_header, &f);
    return f.space ? "a header has a space before its colon"
           : f.lengths && f.codings
               ? "Content-Length: given beside Transfer-Encoding (send one of them)"
           : f.lengths > 1 ? "Content-Length: given twice"
           : f.codings > 1 || (f.codings && !f.chunked)
               ? "Transfer-Encoding: not chunked (send Content-Length, or chunked)"
           : f.hosts > 1                                            ? "Host: given twice"
           : !f.hosts && strcmp(version, MHD_HTTP_VERSION_1_1) == 0 ? "Host: missing"
                                                                    : NULL;
}

/* The client has its answer and the end of the connection; what it still sends is read
 * until it closes its side, or its time is over. */
static void answer_at_once(struct MHD_Connection *c, const char *status,
                           const char *error, const char *message)
{
    char body[200], answer[400];
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    int len = snprintf(body, sizeof body, "{\"error\":\"%s\",\"message\":\"%s\"}\n",
                       error, message);
    int all = snprintf(answer, sizeof answer,
                       "HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
                       "Content-Length: %d\r\nConnection: close\r\n\r\n%s",
                       status, len, body);
    if (send(info->connect_fd, answer, (size_t)all, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
        shutdown(info->connect_fd, SHUT_WR);
    }
}

static const char answered; /* its address is the state of such a request */

bool http_strict_is_answered(const void *state)
{
    return state == &answered;
}

/* libmicrohttpd 0.9.75 has room for some 400 arguments, and leaves a connection without
 * an answer that sends more. */
void *http_strict_uri(void *arg, const char *uri, struct MHD_Connection *c)
{
    (void)arg;
    const char *query = strchr(uri, '?');
    unsigned arguments = query != NULL;
    for (; query && (query = strchr(query, '&')); query++) {
        arguments++;
    }
    if (strlen(uri) > HTTP_URI_BYTES) {
        answer_at_once(c, "414 URI Too Long", "too_long",
                       "the path and the query have more than 8000 bytes");
        return (void *)(uintptr_t)&answered;
    }
    if (arguments > HTTP_ARGUMENTS_MAX) {
        answer_at_once(c, "400 Bad Request", "bad_request",
                       "the query has more than 32 arguments");
        return (void *)(uintptr_t)&answered;
    }
    return NULL;
}

size_t http_strict_unescape(void *arg, struct MHD_Connection *c, char *text)
{
    (void)arg;
    (void)c;
    return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}
