/* SPDX-License-Identifier: Apache-2.0 */
/* Answers what is asked of sessions: lists, tables, series, exports. */
#include "backend/http/http_sessions.h"

#include <string.h>

#include "backend/api/api.h"
#include "backend/api/api_delivery.h"
#include "backend/api/api_hotlines.h"
#include "backend/api/api_hotspots.h"
#include "backend/api/api_kernels.h"
#include "backend/api/api_memory.h"
#include "backend/api/api_series.h"
#include "backend/api/api_streams.h"
#include "backend/http/http_query.h"
#include "backend/http/http_respond.h"
#include "backend/http/ingest.h"
#include "backend/store/export.h"
#include "backend/store/store_health.h"
#include "backend/store/store_sessions.h"
#include "schema/column_names.h"
#include "schema/protocol.h"

#define NDJSON           "application/x-ndjson"
#define SESSIONS_DEFAULT 100
#define SESSIONS_MAX     10000
#define ROWS_DEFAULT     100
#define ROWS_MAX         1000
#define POINTS_DEFAULT   1000
#define POINTS_MAX       10000

#define PAGE_ARGUMENTS                                                                   \
    {"limit", 1, ROWS_MAX},                                                              \
    {                                                                                    \
        "offset", 0, INT32_MAX                                                           \
    }
#define SPAN_ARGUMENTS                                                                   \
    {"from_ns", 0, INT64_MAX}, {"to_ns", 0, INT64_MAX},                                  \
    {                                                                                    \
        "points", 1, POINTS_MAX                                                          \
    }

static const struct query_argument no_arguments[] = {{0}};
static const struct query_argument list_arguments[] = {
    {"limit", 1, SESSIONS_MAX}, {"offset", 0, INT32_MAX}, {0}};
static const struct query_argument page_arguments[] = {PAGE_ARGUMENTS, {0}};
static const struct query_argument launch_arguments[] = {
    {"by", 0, 0}, PAGE_ARGUMENTS, {0}};
static const struct query_argument span_arguments[] = {SPAN_ARGUMENTS, {0}};
static const struct query_argument metric_arguments[] = {
    {"metric", 0, 0}, SPAN_ARGUMENTS, {0}};
static const struct query_argument export_arguments[] = {{"channel", 0, 0}, {0}};
static const struct query_argument stream_arguments[] = {
    {"channel", 0, 0}, {"file", 1, UINT32_MAX}, {"offset", 0, PROTOCOL_MAX_OFFSET}, {0}};

static const char *argument(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, name);
}

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

static enum MHD_Result on_export(struct store *store, struct MHD_Connection *c,
                                 const char *session, bool head)
{
    const char *channel = argument(c, "channel");
    int64_t id = 0;
    if (!channel || !layout_channel_ok(channel)) {
        return http_respond_error(c, 400,
                                  "channel: missing or not a channel name (expected "
                                  "channel=device, for example)");
    }
    if (store_sessions(store, session, 1, 0, note_id, &id) != GPUFL_OK || id == 0) {
        return http_respond_error(c, 404, "no such session");
    }
    struct export *e;
    if (export_open(store, id, channel, &e) != GPUFL_OK) {
        return http_respond_error(c, 500, "the database could not be read");
    }
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, 65536, export_more, e, export_done);
    if (!response) {
        export_close(e);
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", NDJSON);
    return http_respond_stream(c, response, head);
}

static unsigned count_of(struct MHD_Connection *c, const char *name, unsigned max,
                         unsigned other)
{
    return (unsigned)query_number(argument(c, name), 1, max, other);
}

static unsigned offset_of(struct MHD_Connection *c)
{
    return (unsigned)query_number(argument(c, "offset"), 0, INT32_MAX, 0);
}

static struct query_page page_of(struct MHD_Connection *c)
{
    return (struct query_page){.limit = count_of(c, "limit", ROWS_MAX, ROWS_DEFAULT),
                               .offset = offset_of(c)};
}

static struct series_span span_of(struct MHD_Connection *c)
{
    return (struct series_span){
        .from_ns = query_number(argument(c, "from_ns"), 0, INT64_MAX, 0),
        .to_ns = query_number(argument(c, "to_ns"), 0, INT64_MAX, 0),
        .points = count_of(c, "points", POINTS_MAX, POINTS_DEFAULT)};
}

static int on_kernels(struct store *store, struct MHD_Connection *c, int64_t id,
                      struct text *answer)
{
    struct query_page page = page_of(c);
    return api_kernels(store, id, &page, answer);
}

static int on_launches(struct store *store, struct MHD_Connection *c, int64_t id,
                       struct text *answer)
{
    struct query_page page = page_of(c);
    const char *by = argument(c, "by");
    return api_launches(store, id, by ? by : "scope", &page, answer);
}

static int on_session_memory(struct store *store, struct MHD_Connection *c, int64_t id,
                             struct text *answer)
{
    (void)c;
    return api_memory(store, id, answer);
}

static int on_hotspots(struct store *store, struct MHD_Connection *c, int64_t id,
                       struct text *answer)
{
    struct query_page page = page_of(c);
    return api_hotspots(store, id, &page, answer);
}

static int on_hotlines(struct store *store, struct MHD_Connection *c, int64_t id,
                       struct text *answer)
{
    struct query_page page = page_of(c);
    return api_hotlines(store, id, &page, answer);
}

static int on_metrics(struct store *store, struct MHD_Connection *c, int64_t id,
                      struct text *answer)
{
    struct series_span span = span_of(c);
    const char *metric = argument(c, "metric");
    return api_metrics(store, id, metric ? metric : COLUMN(DEVICE, gpu_util), &span,
                       answer);
}

static int on_scopes(struct store *store, struct MHD_Connection *c, int64_t id,
                     struct text *answer)
{
    struct series_span span = span_of(c);
    return api_scopes(store, id, &span, answer);
}

static int on_delivery(struct store *store, struct MHD_Connection *c, int64_t id,
                       struct text *answer)
{
    (void)c;
    return api_delivery(store, id, answer);
}

/* Without a get: answered by on_session_part() itself. */
static const struct session_part {
    const char *name;
    const struct query_argument *takes;
    int (*get)(struct store *store, struct MHD_Connection *c, int64_t id,
               struct text *answer);
} session_parts[] = {{"kernels", page_arguments, on_kernels},
                     {"memory", no_arguments, on_session_memory},
                     {"hotspots", page_arguments, on_hotspots},
                     {"hotlines", page_arguments, on_hotlines},
                     {"metrics", metric_arguments, on_metrics},
                     {"scopes", span_arguments, on_scopes},
                     {"delivery", no_arguments, on_delivery},
                     {"launches", launch_arguments, on_launches},
                     {"export", export_arguments, NULL},
                     {"streams", stream_arguments, NULL}};

static const struct session_part *part_named(const char *name)
{
    for (size_t i = 0; i < sizeof session_parts / sizeof *session_parts; i++) {
        if (strcmp(name, session_parts[i].name) == 0) {
            return &session_parts[i];
        }
    }
    return NULL;
}

/* A session that is not known has no streams: its sender begins with the first line. */
static enum MHD_Result on_streams(struct store *store, struct MHD_Connection *c,
                                  const char *session)
{
    struct text answer = {0};
    const char *channel = argument(c, "channel");
    int64_t file = query_number(argument(c, "file"), 1, UINT32_MAX, 0);
    int64_t offset = query_number(argument(c, "offset"), 0, PROTOCOL_MAX_OFFSET, -1);
    if (!store_health_look(store)) { /* a sender goes by what these answers tell */
        return http_respond(c, ingest_refuse_unwritten(store, &answer), HTTP_JSON,
                            &answer);
    }
    if (!channel && !argument(c, "file") && !argument(c, "offset")) {
        int status = api_streams(store, session, &answer);
        return http_respond(c, status, HTTP_JSON, &answer);
    }
    if (!channel || !layout_channel_ok(channel) || file == 0 || offset < 0) {
        return http_respond_error(c, 400,
                                  "channel, file, offset: missing or out of range "
                                  "(expected channel=device&file=1&offset=0, for "
                                  "example)");
    }
    struct stream_place asked = {.file = (uint32_t)file, .offset = (uint64_t)offset};
    int status = api_streams_place(store, session, &asked, channel, &answer);
    return http_respond(c, status, HTTP_JSON, &answer);
}

static enum MHD_Result on_session_part(struct store *store, struct MHD_Connection *c,
                                       const struct query_path *path, bool head)
{
    int64_t id = 0;
    struct text answer = {0};
    char why[QUERY_WHY_BYTES];
    const struct session_part *part = part_named(path->part);
    if (!part) {
        return http_respond_error(c, 404, "no such path");
    }
    if (!http_query_fits(c, part->takes, why)) {
        return http_respond_error(c, 400, why);
    }
    if (!part->get) {
        return part->takes == export_arguments ? on_export(store, c, path->session, head)
                                               : on_streams(store, c, path->session);
    }
    if (store_sessions(store, path->session, 1, 0, note_id, &id) != GPUFL_OK || id == 0) {
        return http_respond_error(c, 404, "no such session");
    }
    int status = part->get(store, c, id, &answer);
    return http_respond(c, status, HTTP_JSON, &answer);
}

static enum MHD_Result on_list(struct store *store, struct MHD_Connection *c)
{
    struct text answer = {0};
    char why[QUERY_WHY_BYTES];
    if (!http_query_fits(c, list_arguments, why)) {
        return http_respond_error(c, 400, why);
    }
    struct query_page page = {count_of(c, "limit", SESSIONS_MAX, SESSIONS_DEFAULT),
                              offset_of(c)};
    int status = api_sessions(store, &page, &answer);
    return http_respond(c, status, HTTP_JSON, &answer);
}

enum MHD_Result http_sessions(struct store *store, struct MHD_Connection *c,
                              const char *rest, bool head)
{
    struct text answer = {0};
    struct query_path path;
    char why[QUERY_WHY_BYTES];
    if (!*rest || strcmp(rest, "/") == 0) {
        return on_list(store, c);
    }
    if (!query_path(rest, &path)) {
        return http_respond_error(c, 404, "no such path");
    }
    if (!layout_name_ok(path.session)) {
        return http_respond_error(c, 404, "no such session");
    }
    if (path.part) {
        return on_session_part(store, c, &path, head);
    }
    if (!http_query_fits(c, no_arguments, why)) {
        return http_respond_error(c, 400, why);
    }
    int status = api_session(store, path.session, &answer);
    return http_respond(c, status, HTTP_JSON, &answer);
}
