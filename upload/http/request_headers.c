/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the headers that schema/README.md lists. */
#include "upload/http/request_headers.h"

#include <stdarg.h>
#include <stdio.h>

#include "schema/protocol.h"

__attribute__((format(printf, 2, 3))) static bool
request_add_header(struct request_headers *out, const char *format, ...)
{
    va_list args;
    if (out->count == REQUEST_HEADERS_MAX) {
        return false;
    }
    va_start(args, format);
    int n = vsnprintf(out->line[out->count], REQUEST_HEADER_BYTES, format, args);
    va_end(args);
    if (n < 0 || (unsigned)n >= REQUEST_HEADER_BYTES) {
        return false;
    }
    out->count++;
    return true;
}

static bool add_identity(struct request_headers *out, const struct transport_request *r)
{
    if (!r->window_id) {
        return true;
    }
    bool ok = request_add_header(out, PROTOCOL_H_IDEMPOTENCY ": %s", r->window_id);
    if (r->window_headers) {
        ok = ok && request_add_header(out, PROTOCOL_H_WINDOW_ID ": %s", r->window_id) &&
             request_add_header(out, PROTOCOL_H_WINDOW_CHANNEL ": %s", r->channel) &&
             request_add_header(out, PROTOCOL_H_WINDOW_SEQUENCE ": %u", r->sequence) &&
             request_add_header(out, PROTOCOL_H_WINDOW_CRC32 ": %u", r->crc32);
    }
    return ok;
}

/* Its answer is of now: one that a proxy has kept, against the backend's no-store, tells
 * of an end that was (RFC 9111). */
static bool request_is_question(enum transport_kind kind)
{
    return kind == TRANSPORT_PROBE || kind == TRANSPORT_KEY || kind == TRANSPORT_ENDS ||
           kind == TRANSPORT_PLACE;
}

/* An empty "Expect:", or libcurl waits a second before it sends a body of 1 MiB, for a
 * 100 that many servers never send. */
bool request_headers_make(const struct transport_request *r, const char *token,
                          const char *hostname, struct request_headers *out)
{
    out->count = 0;
    bool ok = request_add_header(out, "Expect:") &&
              request_add_header(out, PROTOCOL_H_CLIENT ": %s", GPUFL_VERSION) &&
              request_add_header(out, PROTOCOL_H_WIRE ": %s", PROTOCOL_WIRE_VERSION);
    if (token) {
        ok = ok && request_add_header(out, "Authorization: Bearer %s", token);
    }
    if (request_is_question(r->kind)) {
        ok = ok && request_add_header(out, "Cache-Control: no-cache");
    }
    if (r->session) {
        ok = ok && request_add_header(out, PROTOCOL_H_SESSION ": %s", r->session);
    }
    if (r->kind == TRANSPORT_BATCH || r->kind == TRANSPORT_PARTS) {
        ok = ok && request_add_header(out, "Content-Type: application/x-ndjson");
        ok = ok &&
             (!hostname || request_add_header(out, PROTOCOL_H_HOSTNAME ": %s", hostname));
    }
    if (r->kind == TRANSPORT_ALIVE || (r->kind == TRANSPORT_COMPLETE && r->body)) {
        ok = ok && request_add_header(out, "Content-Type: application/json");
    }
    if (r->encoding) {
        ok = ok && request_add_header(out, "Content-Encoding: %s", r->encoding);
    }
    return ok && add_identity(out, r);
}

bool request_headers_value_ok(const char *text)
{
    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) {
            return false;
        }
    }
    return true;
}
