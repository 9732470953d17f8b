/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the answer to a request by its method and path. */
#include "backend/http/http_route.h"

#include <string.h>

#include "backend/http/alive_told.h"
#include "backend/http/http_auth.h"
#include "backend/http/http_respond.h"
#include "backend/http/http_sessions.h"
#include "backend/http/http_site.h"
#include "backend/http/ingest.h"
#include "backend/http/page.h"
#include "backend/http/parts.h"
#include "backend/http/session_claim.h"
#include "backend/store/store_epoch.h"
#include "backend/store/store_health.h"
#include "schema/protocol.h"

#define API      PROTOCOL_DEFAULT_API_PATH
#define SESSIONS API "/sessions"
#define CHANGES  API "/changes"

static const char *header_of(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static struct ingest_request request_of(struct MHD_Connection *c, const struct body *in)
{
    return (struct ingest_request){
        .session = header_of(c, PROTOCOL_H_SESSION),
        .hostname = header_of(c, PROTOCOL_H_HOSTNAME),
        .encoding = header_of(c, "Content-Encoding"),
        .window_id = header_of(c, PROTOCOL_H_WINDOW_ID),
        .window_channel = header_of(c, PROTOCOL_H_WINDOW_CHANNEL),
        .window_sequence = header_of(c, PROTOCOL_H_WINDOW_SEQUENCE),
        .window_crc32 = header_of(c, PROTOCOL_H_WINDOW_CRC32),
        .body = in->bytes.data ? in->bytes.data : "",
        .len = in->bytes.len,
        .too_large = in->too_large,
        .read = in->ahead.state == AHEAD_READ ? &in->ahead.read : NULL,
    };
}

static int on_lines(struct http_service *service, const struct ingest_request *request,
                    struct text *answer)
{
    int status = ingest(service->store, &service->retention, request, answer);
    if (status == 200) {
        changes_note(&service->changes, request->session);
    }
    return status;
}

static void note_change(void *arg, const char *session)
{
    struct http_service *service = arg;
    changes_note(&service->changes, session);
}

static int on_parts(struct http_service *service, const struct ingest_request *request,
                    struct text *answer)
{
    return parts_take(service->store, &service->retention, request, answer, note_change,
                      service);
}

static int on_alive(struct http_service *service, const struct ingest_request *request,
                    struct text *answer)
{
    return alive_told_take(service->store, request, answer, note_change, service);
}

static int on_complete(struct http_service *service, const struct ingest_request *request,
                       struct text *answer)
{
    if (!request->session || !layout_name_ok(request->session)) {
        return ingest_refuse(answer, 400, "bad_request",
                             PROTOCOL_H_SESSION ": missing or not a session id");
    }
    struct text claim = {.data = (char *)(uintptr_t)request->body, .len = request->len};
    int status =
        request->too_large
            ? ingest_refuse_large(answer)
            : session_claim_judge(service->store, request->session, &claim, answer);
    if (status == 200) {
        changes_note(&service->changes, request->session);
    }
    return status;
}

/* What takes a body. */
static const struct taker {
    const char *path;
    int (*take)(struct http_service *service, const struct ingest_request *request,
                struct text *answer);
    void (*read)(const struct ingest_request *request, struct ingest_read *out);
} takers[] = {{PROTOCOL_STREAM, on_lines, ingest_read_lines},
              {PROTOCOL_PARTS, on_parts, ingest_read_parts},
              {PROTOCOL_SESSION_COMPLETE, on_complete, NULL},
              {PROTOCOL_ALIVE, on_alive, NULL}};

static enum MHD_Result on_version(struct http_service *service, struct MHD_Connection *c)
{
    struct text answer = {0};
    if (!store_health_look(service->store)) { /* nobody has what that epoch stands for */
        return http_respond(c, ingest_refuse_unwritten(service->store, &answer),
                            HTTP_JSON, &answer);
    }
    text_printf(&answer,
                "{\"supported\":[\"" PROTOCOL_WIRE_VERSION "\"],"
                "\"encodings\":[\"zstd\",\"gzip\"],\"live_windows\":true,"
                "\"window_registry\":true,\"positions\":true,\"alive_after_ms\":%d,"
                "\"epoch\":\"%s\",\"server\":\"gpufl-backend/%s\"}\n",
                PROTOCOL_ALIVE_AFTER_MS, store_epoch(service->store), GPUFL_VERSION);
    return http_respond(c, 200, HTTP_JSON, &answer);
}

static enum MHD_Result on_changes(struct http_service *service, struct MHD_Connection *c,
                                  bool head)
{
    struct MHD_Response *response = changes_listen(&service->changes, c);
    if (!response) {
        return http_respond_error(c, 503,
                                  "too many pages are open (close one, or reload)");
    }
    MHD_add_response_header(response, "Content-Type", "text/event-stream");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Accel-Buffering",
                            "no"); /* nginx would buffer it */
    return http_respond_stream(c, response, head);
}

/* Some clients are configured without the /api/v1 prefix. */
static const char *path_below_api(const char *url)
{
    return strncmp(url, API, sizeof API - 1) == 0 ? url + sizeof API - 1 : url;
}

static enum MHD_Result route_get(struct http_service *service, struct MHD_Connection *c,
                                 const char *url, bool head)
{
    struct text answer = {0};
    if (strcmp(url, "/healthz") == 0) {
        const char *why = store_health_ask(service->store);
        text_printf(&answer, "%s%s\n", why ? "the database cannot be written: " : "ok",
                    why ? why : "");
        return http_respond(c, why ? 503 : 200, "text/plain", &answer);
    }
    if (strcmp(url, API PROTOCOL_VERSION) == 0) {
        return on_version(service, c);
    }
    if (!http_auth_allows(c, service->api_key)) {
        return http_respond_error(c, 401,
                                  "Authorization: the API key is missing or wrong");
    }
    const struct page_file *file = page_find(url);
    if (file) {
        return http_respond_file(c, file);
    }
    if (strcmp(url, CHANGES) == 0) {
        return on_changes(service, c, head);
    }
    if (strncmp(url, SESSIONS, sizeof SESSIONS - 1) == 0) {
        return http_sessions(service->store, c, url + sizeof SESSIONS - 1, head);
    }
    if (strcmp(path_below_api(url), PROTOCOL_STREAM) == 0) {
        return http_respond_error(c, 405, "method not allowed (expected POST)");
    }
    return http_respond_error(c, 404, "no such path");
}

static const struct taker *taker_at(const char *url)
{
    const char *path = path_below_api(url);
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++) {
        if (strcmp(path, takers[i].path) == 0) {
            return &takers[i];
        }
    }
    return NULL;
}

/* What goes into a file that was removed is stored nowhere: it is looked for before the
 * body is taken, and again before it is acknowledged. */
static enum MHD_Result take_body(struct http_service *service, struct MHD_Connection *c,
                                 const struct taker *taker, struct body *in)
{
    struct ingest_request request = request_of(c, in);
    struct text answer = {0};
    int status = 0;
    if (store_health_look(service->store)) {
        status = taker->take(service, &request, &answer);
    }
    if (!store_health_look(service->store)) {
        text_clear(&answer);
        status = ingest_refuse_unwritten(service->store, &answer);
    }
    read_ahead_end(&in->ahead);
    return http_respond(c, status, HTTP_JSON, &answer);
}

static enum MHD_Result route_post(struct http_service *service, struct MHD_Connection *c,
                                  const char *url, struct body *in)
{
    const struct taker *taker = taker_at(url);
    if (!http_auth_allows(c, service->api_key)) {
        return http_respond_error(c, 401,
                                  "Authorization: the API key is missing or wrong");
    }
    return taker ? take_body(service, c, taker, in)
                 : http_respond_error(c, 404, "no such path");
}

bool http_route_wants_body(const struct http_request *request)
{
    return strcmp(request->method, "POST") == 0 && taker_at(request->url);
}

bool http_route_reads_ahead(struct http_service *service, struct MHD_Connection *c,
                            const struct http_request *request)
{
    struct body *in = request->body;
    const struct taker *taker = in->unwanted ? NULL : taker_at(request->url);
    if (!taker || !taker->read || in->too_large || in->ahead.state != AHEAD_NOT ||
        in->bytes.len < READ_AHEAD_FROM_BYTES) {
        return false;
    }
    in->ahead.take = taker->read;
    in->ahead.request = request_of(c, in);
    in->ahead.connection = c;
    return read_ahead_begin(&service->ahead, &in->ahead);
}

bool http_route_is_endless(const struct http_request *request)
{
    return strcmp(request->url, CHANGES) == 0;
}

enum MHD_Result http_route(struct http_service *service, struct MHD_Connection *c,
                           const struct http_request *request)
{
    const char *why = http_site_refuses(c, request->method, service->any_host);
    if (why) {
        return http_respond_error(c, 403, why);
    }
    if (strcmp(request->method, "POST") == 0) {
        return route_post(service, c, request->url, request->body);
    }
    bool head = strcmp(request->method, "HEAD") == 0;
    if (head || strcmp(request->method, "GET") == 0) {
        return route_get(service, c, request->url, head);
    }
    return http_respond_error(c, 405, "method not allowed (expected GET, HEAD or POST)");
}
