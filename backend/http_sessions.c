/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown of sessions: lists, tables, series, exports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/api.h"
#include "backend/api_about.h"
#include "backend/api_series.h"
#include "backend/api_tables.h"
#include "backend/export.h"
#include "backend/http_internal.h"
#include "schema/columns.h"

#define NDJSON           "application/x-ndjson"
#define SESSIONS_DEFAULT 100
#define SESSIONS_MAX     10000
#define ROWS_DEFAULT     100
#define ROWS_MAX         1000
#define POINTS_DEFAULT   1000
#define POINTS_MAX       10000
#define PART_BYTES       32u

static ssize_t export_more(void *arg, uint64_t position, char *buf, size_t max)
{
    (void)position;
    ssize_t n = export_read(arg, buf, max);
    return n > 0    ? n
           : n == 0 ? MHD_CONTENT_READER_END_OF_STREAM
                    : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void export_done(void *arg)
{
    export_close(arg);
}

static void note_id(void *arg, const struct store_session *session)
{
    *(int64_t *)arg = session->id;
}

static enum MHD_Result on_export(struct http_server *server, struct MHD_Connection *c,
                                 const char *session)
{
    const char *channel =
        MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "channel");
    int64_t id = 0;
    if (!channel || !layout_channel_ok(channel)) {
        return http_respond_error(c, 400, "name a channel: export?channel=device");
    }
    if (store_sessions(server->store, session, 1, 0, note_id, &id) != GPUFL_OK ||
        id == 0) {
        return http_respond_error(c, 404, "no such session");
    }
    struct export *e;
    if (export_open(server->store, id, channel, &e) != GPUFL_OK) {
        return http_respond_error(c, 500, "the database could not be read");
    }
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, 65536, export_more, e, export_done);
    if (!response) {
        export_close(e);
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", NDJSON);
    enum MHD_Result rc = MHD_queue_response(c, 200, response);
    MHD_destroy_response(response);
    return rc;
}

/* A number of the query within its range, else \p other. */
static int64_t number_of(struct MHD_Connection *c, const char *name, int64_t min,
                         int64_t max, int64_t other)
{
    const char *text = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, name);
    char *end = NULL;
    errno = 0;
    int64_t value = text ? strtoll(text, &end, 10) : 0;
    bool good = text && end != text && !*end && !errno && value >= min && value <= max;
    return good ? value : other;
}

static struct api_part part_of(struct MHD_Connection *c)
{
    return (struct api_part){
        .limit = (unsigned)number_of(c, "limit", 1, ROWS_MAX, ROWS_DEFAULT),
        .offset = (unsigned)number_of(c, "offset", 0, INT32_MAX, 0)};
}

static struct series_span span_of(struct MHD_Connection *c)
{
    return (struct series_span){
        .from_ns = number_of(c, "from_ns", 0, INT64_MAX, 0),
        .to_ns = number_of(c, "to_ns", 0, INT64_MAX, 0),
        .points = (unsigned)number_of(c, "points", 1, POINTS_MAX, POINTS_DEFAULT)};
}

static int on_kernels(struct store *store, struct MHD_Connection *c, int64_t id,
                      struct answer *answer)
{
    struct api_part part = part_of(c);
    return api_kernels(store, id, &part, answer);
}

static int on_launches(struct store *store, struct MHD_Connection *c, int64_t id,
                       struct answer *answer)
{
    struct api_part part = part_of(c);
    const char *by = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "by");
    return api_launches(store, id, by ? by : "scope", &part, answer);
}

static int on_memory(struct store *store, struct MHD_Connection *c, int64_t id,
                     struct answer *answer)
{
    (void)c;
    return api_memory(store, id, answer);
}

static int on_hotspots(struct store *store, struct MHD_Connection *c, int64_t id,
                       struct answer *answer)
{
    struct api_part part = part_of(c);
    return api_hotspots(store, id, &part, answer);
}

static int on_hotlines(struct store *store, struct MHD_Connection *c, int64_t id,
                       struct answer *answer)
{
    struct api_part part = part_of(c);
    return api_hotlines(store, id, &part, answer);
}

static int on_metrics(struct store *store, struct MHD_Connection *c, int64_t id,
                      struct answer *answer)
{
    struct series_span span = span_of(c);
    const char *metric = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "metric");
    return api_metrics(store, id, metric ? metric : COLUMN(DEVICE, gpu_util), &span,
                       answer);
}

static int on_scopes(struct store *store, struct MHD_Connection *c, int64_t id,
                     struct answer *answer)
{
    struct series_span span = span_of(c);
    return api_scopes(store, id, &span, answer);
}

static int on_delivery(struct store *store, struct MHD_Connection *c, int64_t id,
                       struct answer *answer)
{
    (void)c;
    return api_delivery(store, id, answer);
}

static const struct {
    const char *name;
    int (*get)(struct store *store, struct MHD_Connection *c, int64_t id,
               struct answer *answer);
} session_parts[] = {{"kernels", on_kernels},   {"memory", on_memory},
                     {"hotspots", on_hotspots}, {"hotlines", on_hotlines},
                     {"metrics", on_metrics},   {"scopes", on_scopes},
                     {"delivery", on_delivery}, {"launches", on_launches}};

static enum MHD_Result on_session_part(struct http_server *server,
                                       struct MHD_Connection *c, const char *session,
                                       const char *part)
{
    int64_t id = 0;
    struct answer answer = {0};
    if (strcmp(part, "export") == 0) {
        return on_export(server, c, session);
    }
    for (size_t i = 0; i < sizeof session_parts / sizeof *session_parts; i++) {
        if (strcmp(part, session_parts[i].name) != 0) {
            continue;
        }
        if (store_sessions(server->store, session, 1, 0, note_id, &id) != GPUFL_OK ||
            id == 0) {
            return http_respond_error(c, 404, "no such session");
        }
        int status = session_parts[i].get(server->store, c, id, &answer);
        return http_respond(c, status, JSON, &answer);
    }
    return http_respond_error(c, 404, "no such path");
}

/* /api/v1/sessions[/{id}[/{part}]] */
enum MHD_Result http_sessions(struct http_server *server, struct MHD_Connection *c,
                              const char *rest)
{
    struct answer answer = {0};
    char session[LAYOUT_NAME_MAX + PART_BYTES];
    if (!*rest || strcmp(rest, "/") == 0) {
        unsigned limit =
            (unsigned)number_of(c, "limit", 1, SESSIONS_MAX, SESSIONS_DEFAULT);
        unsigned offset = (unsigned)number_of(c, "offset", 0, INT32_MAX, 0);
        int status = api_sessions(server->store, limit, offset, &answer);
        return http_respond(c, status, JSON, &answer);
    }
    if (*rest != '/' || strlen(rest + 1) >= sizeof session) {
        return http_respond_error(c, 404, "no such path");
    }
    strcpy(session, rest + 1);
    char *part = strchr(session, '/');
    if (part) {
        *part++ = '\0';
    }
    if (!layout_name_ok(session)) {
        return http_respond_error(c, 404, "no such session");
    }
    if (part) {
        return on_session_part(server, c, session, part);
    }
    int status = api_session(server->store, session, &answer);
    return http_respond(c, status, JSON, &answer);
}
