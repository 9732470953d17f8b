/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask, what is taken in. One thread serves all connections, so the store needs no
 * lock. */
#include "backend/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/body.h"
#include "backend/http_internal.h"
#include "backend/ingest.h"
#include "backend/page.h"
#include "backend/store_ingest.h"
#include "schema/protocol.h"

#define API             "/api/v1"
#define SESSIONS        API "/sessions"
#define CONNECTIONS_MAX 512u
#define IDLE_S          75u

static const char *header(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

enum MHD_Result http_respond(struct MHD_Connection *c, int status, const char *type,
                             struct text *answer)
{
    if (answer->failed) {
        text_fini(answer);
        status = 500;
    }
    struct MHD_Response *response = MHD_create_response_from_buffer(
        answer->len, answer->data ? answer->data : (void *)(uintptr_t) "",
        answer->data ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!response) {
        text_fini(answer);
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (status == 415) {
        MHD_add_response_header(response, "Accept-Encoding", "zstd, gzip");
    }
    if (status == 405) {
        MHD_add_response_header(response, "Allow", "GET, POST");
    }
    if (status == 401) {
        MHD_add_response_header(
            response, "WWW-Authenticate",
            "Basic realm=\"gpufl: any name, the API key as password\"");
    }
    enum MHD_Result rc = MHD_queue_response(c, (unsigned)status, response);
    MHD_destroy_response(response);
    return rc;
}

static const char *error_of(int status)
{
    switch (status) {
    case 400:
        return "bad_request";
    case 401:
        return "unauthorized";
    case 404:
        return "not_found";
    case 405:
        return "method_not_allowed";
    case 503:
        return "busy";
    default:
        return "internal";
    }
}

enum MHD_Result http_respond_error(struct MHD_Connection *c, int status,
                                   const char *message)
{
    struct text answer = {0};
    text_printf(&answer, "{\"error\":\"%s\",\"message\":", error_of(status));
    text_json_string(&answer, message);
    text_printf(&answer, "}\n");
    return http_respond(c, status, JSON, &answer);
}

/* ---- who may ask ---- */

/* Takes as long for a wrong key as for the right one of the same length. */
static bool same_key(const char *given, const char *key)
{
    size_t given_len = strlen(given);
    size_t key_len = strlen(key);
    volatile unsigned char difference = given_len != key_len;
    for (size_t i = 0; i < given_len; i++) {
        difference |= (unsigned char)given[i] ^ (unsigned char)key[i % (key_len + 1)];
    }
    return difference == 0;
}

static bool allowed(const struct http_server *server, struct MHD_Connection *c)
{
    if (!server->api_key) {
        return true;
    }
    const char *given = header(c, "Authorization");
    if (given && strncmp(given, "Bearer ", 7) == 0) {
        return same_key(given + 7, server->api_key);
    }
    char *password = NULL;
    char *user = MHD_basic_auth_get_username_password(c, &password);
    bool ok = user && password && same_key(password, server->api_key);
    MHD_free(user);
    MHD_free(password);
    return ok;
}

/* ---- handlers ---- */

static enum MHD_Result on_stream(struct http_server *server, struct MHD_Connection *c,
                                 const struct body *in)
{
    struct ingest_request request = {
        .session = header(c, PROTOCOL_H_SESSION),
        .hostname = header(c, PROTOCOL_H_HOSTNAME),
        .encoding = header(c, "Content-Encoding"),
        .window_id = header(c, PROTOCOL_H_WINDOW_ID),
        .window_channel = header(c, PROTOCOL_H_WINDOW_CHANNEL),
        .window_sequence = header(c, PROTOCOL_H_WINDOW_SEQUENCE),
        .window_crc32 = header(c, PROTOCOL_H_WINDOW_CRC32),
        .body = in->data ? in->data : "",
        .len = in->len,
        .too_large = in->too_large,
    };
    struct text answer = {0};
    int status = ingest(server->store, &server->retention, &request, &answer);
    if (status == 200) {
        changes_note(&server->changes, request.session);
    }
    return http_respond(c, status, JSON, &answer);
}

static enum MHD_Result on_complete(struct http_server *server, struct MHD_Connection *c)
{
    const char *session = header(c, PROTOCOL_H_SESSION);
    if (!session || !layout_name_ok(session)) {
        return http_respond_error(c, 400,
                                  PROTOCOL_H_SESSION " is missing or no session id");
    }
    gpufl_status status = store_complete(server->store, session);
    if (status == GPUFL_ERR_NOT_FOUND) {
        return http_respond_error(c, 404, "no such session");
    }
    if (status != GPUFL_OK) {
        return http_respond_error(c, 500, "the database could not be written");
    }
    struct text answer = {0};
    changes_note(&server->changes, session);
    text_printf(&answer, "{\"complete\":true}\n");
    return http_respond(c, 200, JSON, &answer);
}

static enum MHD_Result on_version(struct MHD_Connection *c)
{
    struct text answer = {0};
    text_printf(&answer,
                "{\"supported\":[\"" PROTOCOL_WIRE_VERSION "\"],"
                "\"encodings\":[\"zstd\",\"gzip\"],\"live_windows\":true,"
                "\"window_registry\":true,\"server\":\"gpufl-backend/%s\"}\n",
                GPUFL_VERSION);
    return http_respond(c, 200, JSON, &answer);
}

static enum MHD_Result on_page(struct MHD_Connection *c, const struct page_file *file)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        (size_t)(file->end - file->begin), (void *)(uintptr_t)file->begin,
        MHD_RESPMEM_PERSISTENT);
    if (!response) {
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", file->type);
    MHD_add_response_header(response, "Cache-Control", "no-cache");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Content-Security-Policy", PAGE_POLICY);
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    enum MHD_Result rc = MHD_queue_response(c, 200, response);
    MHD_destroy_response(response);
    return rc;
}

static enum MHD_Result on_changes(struct http_server *server, struct MHD_Connection *c)
{
    struct MHD_Response *response = changes_listen(&server->changes, c);
    if (!response) {
        return http_respond_error(c, 503, "too many pages are open");
    }
    MHD_add_response_header(response, "Content-Type", "text/event-stream");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Accel-Buffering",
                            "no"); /* nginx keeps it else */
    enum MHD_Result rc = MHD_queue_response(c, 200, response);
    MHD_destroy_response(response);
    return rc;
}

static enum MHD_Result route_get(struct http_server *server, struct MHD_Connection *c,
                                 const char *url)
{
    struct text answer = {0};
    if (strcmp(url, "/healthz") == 0) {
        text_printf(&answer, "ok\n");
        return http_respond(c, 200, "text/plain", &answer);
    }
    if (strcmp(url, API PROTOCOL_VERSION) == 0) {
        return on_version(c);
    }
    if (!allowed(server, c)) {
        return http_respond_error(c, 401, "the API key is missing or wrong");
    }
    const struct page_file *file = page_find(url);
    if (file) {
        return on_page(c, file);
    }
    if (strcmp(url, API "/changes") == 0) {
        return on_changes(server, c);
    }
    if (strncmp(url, SESSIONS, sizeof SESSIONS - 1) == 0) {
        return http_sessions(server, c, url + sizeof SESSIONS - 1);
    }
    return http_respond_error(c, 404, "no such path");
}

static enum MHD_Result route_post(struct http_server *server, struct MHD_Connection *c,
                                  const char *url, const struct body *in)
{
    /* Some clients are set up without the /api/v1 prefix. */
    const char *path =
        strncmp(url, API, sizeof API - 1) == 0 ? url + sizeof API - 1 : url;
    if (!allowed(server, c)) {
        return http_respond_error(c, 401, "the API key is missing or wrong");
    }
    if (strcmp(path, PROTOCOL_STREAM) == 0) {
        return on_stream(server, c, in);
    }
    if (strcmp(path, PROTOCOL_SESSION_COMPLETE) == 0) {
        return on_complete(server, c);
    }
    return http_respond_error(c, 404, "no such path");
}

/* ---- libmicrohttpd ---- */

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version,
                                  const char *data, size_t *data_len, void **state)
{
    struct http_server *server = arg;
    (void)version;
    if (!*state) {
        *state = calloc(1, sizeof(struct body));
        return *state ? MHD_YES : MHD_NO;
    }
    struct body *in = *state;
    if (*data_len > 0) {
        body_take(in, data, *data_len);
        *data_len = 0;
        return MHD_YES;
    }
    if (strcmp(method, "POST") == 0) {
        return route_post(server, c, url, in);
    }
    if (strcmp(method, "GET") == 0) {
        return route_get(server, c, url);
    }
    return http_respond_error(c, 405, "GET and POST only");
}

static void on_done(void *arg, struct MHD_Connection *c, void **state,
                    enum MHD_RequestTerminationCode why)
{
    struct http_server *server = arg;
    struct body *in = *state;
    (void)c;
    (void)why;
    if (in) {
        body_fini(in);
        free(in);
    }
    retention_step(server->store, &server->retention);
}

gpufl_status http_start(const struct http_config *config, struct http_server **out,
                        char why[256])
{
    const struct address *address = config->address;
    *out = NULL;
    struct http_server *server = calloc(1, sizeof *server);
    if (!server) {
        snprintf(why, 256, "out of memory");
        return GPUFL_ERR_NOMEM;
    }
    server->store = config->store;
    server->retention = config->retention;
    server->api_key = config->api_key ? strdup(config->api_key) : NULL;
    pthread_mutex_init(&server->changes.lock, NULL);
    unsigned flags =
        MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    flags |= address->sock.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0;
    server->daemon = MHD_start_daemon(
        flags, address->port, NULL, NULL, on_request, server, MHD_OPTION_SOCK_ADDR,
        &address->sock, MHD_OPTION_NOTIFY_COMPLETED, on_done, server,
        MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
        IDLE_S, MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u, MHD_OPTION_END);
    if (!server->daemon) {
        snprintf(why, 256, "cannot listen on %.100s port %u: %s", address->host,
                 address->port, strerror(errno));
        http_stop(server);
        return GPUFL_ERR_IO;
    }
    *out = server;
    return GPUFL_OK;
}

uint16_t http_port(const struct http_server *server)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}

void http_stop(struct http_server *server)
{
    changes_close(&server->changes);
    if (server->daemon) {
        MHD_stop_daemon(server->daemon);
    }
    pthread_mutex_destroy(&server->changes.lock);
    free(server->api_key);
    free(server);
}
