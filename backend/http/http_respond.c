/* SPDX-License-Identifier: Apache-2.0 */
/* Sends answers, each with the headers that belong to it. */
#include "backend/http/http_respond.h"

static enum MHD_Result http_send(struct MHD_Connection *c, int status, const char *type,
                                 struct text *answer, bool last)
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
        MHD_add_response_header(response, "Allow", "GET, HEAD, POST");
    }
    if (last) {
        MHD_add_response_header(response, "Connection", "close");
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

enum MHD_Result http_respond(struct MHD_Connection *c, int status, const char *type,
                             struct text *answer)
{
    /* Who has no key cannot fill a connection with requests to be refused. */
    return http_send(c, status, type, answer, status == 401);
}

static const char *error_of(int status)
{
    switch (status) {
    case 400:
        return "bad_request";
    case 401:
        return "unauthorized";
    case 403:
        return "forbidden";
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

static void write_error(struct text *answer, int status, const char *message)
{
    text_printf(answer, "{\"error\":\"%s\",\"message\":", error_of(status));
    text_json_string(answer, message);
    text_printf(answer, "}\n");
}

enum MHD_Result http_respond_error(struct MHD_Connection *c, int status,
                                   const char *message)
{
    struct text answer = {0};
    write_error(&answer, status, message);
    return http_respond(c, status, HTTP_JSON, &answer);
}

enum MHD_Result http_respond_last(struct MHD_Connection *c, int status,
                                  const char *message)
{
    struct text answer = {0};
    write_error(&answer, status, message);
    return http_send(c, status, HTTP_JSON, &answer, true);
}

/* To a HEAD, libmicrohttpd 0.9.75 sends the end of a chunked body, which the client would
 * take for the next answer. */
enum MHD_Result http_respond_stream(struct MHD_Connection *c,
                                    struct MHD_Response *response, bool head)
{
    if (head) {
        MHD_set_response_options(response, MHD_RF_HTTP_VERSION_1_0_ONLY, MHD_RO_END);
    }
    enum MHD_Result rc = MHD_queue_response(c, 200, response);
    MHD_destroy_response(response);
    return rc;
}

enum MHD_Result http_respond_file(struct MHD_Connection *c, const struct page_file *file)
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
