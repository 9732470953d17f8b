/* SPDX-License-Identifier: Apache-2.0 */
/* Notes which sessions a sender sees alive. Sessions of which nothing is stored are
 * counted and left alone: a list of names makes no session. */
#include "backend/http/alive_told.h"

#include <inttypes.h>
#include <stdlib.h>

#include "backend/http/json_read.h"
#include "schema/protocol.h"

static const char *read_told(struct json_object *from, struct store_alive *out)
{
    if (!json_object_is_type(from, json_type_object)) {
        return "sessions: not a list of objects";
    }
    if (!json_read_name(from, "session", out->session, sizeof out->session) ||
        !layout_name_ok(out->session)) {
        return "session: missing or not a session id";
    }
    return json_read_count(from, "silent_ms", PROTOCOL_MAX_OFFSET, &out->silent_ms)
               ? NULL
               : "silent_ms: missing or not a number of milliseconds";
}

static const char *read_sessions(struct json_object *root, struct alive_told *out)
{
    struct json_object *list;
    if (!json_object_object_get_ex(root, "sessions", &list) ||
        !json_object_is_type(list, json_type_array) ||
        json_object_array_length(list) == 0 ||
        json_object_array_length(list) > PROTOCOL_MAX_ALIVE) {
        return "sessions: missing or not a list of 1 to 256 sessions";
    }
    size_t n = json_object_array_length(list);
    const char *fault = NULL;
    out->session = calloc(n, sizeof *out->session);
    if (!out->session) {
        return "out of memory";
    }
    while (!fault && out->count < n) {
        fault = read_told(json_object_array_get_idx(list, out->count),
                          &out->session[out->count]);
        out->count += !fault;
    }
    return fault;
}

const char *alive_told_read(const char *body, size_t len, struct alive_told *out)
{
    *out = (struct alive_told){0};
    struct json_object *root = json_read_object(body, len);
    const char *fault = root ? read_sessions(root, out)
                             : "the body is not a JSON object of at most 1 MiB";
    json_object_put(root);
    if (fault) {
        alive_told_fini(out);
    }
    return fault;
}

void alive_told_fini(struct alive_told *told)
{
    free(told->session);
    *told = (struct alive_told){0};
}

static int note_told(struct store *store, const struct alive_told *told,
                     struct text *answer)
{
    size_t known = 0;
    if (store_alive_put(store, told->session, told->count) != GPUFL_OK) {
        return ingest_refuse_unwritten(store, answer);
    }
    for (size_t i = 0; i < told->count; i++) {
        known += told->session[i].known;
    }
    text_printf(answer, "{\"known\":%zu,\"unknown\":%zu}\n", known, told->count - known);
    return 200;
}

int alive_told_take(struct store *store, const struct ingest_request *request,
                    struct text *answer, void (*changed)(void *arg, const char *session),
                    void *arg)
{
    struct alive_told told;
    char *raw;
    size_t len;
    if (request->too_large) {
        return ingest_refuse_large(answer);
    }
    int status = ingest_decode(request, &raw, &len, answer);
    if (status) {
        return status;
    }
    const char *fault = alive_told_read(raw ? raw : "", len, &told);
    status = fault ? ingest_refuse(answer, 400, "alive", fault)
                   : note_told(store, &told, answer);
    for (size_t i = 0; status == 200 && i < told.count; i++) {
        if (told.session[i].known) {
            changed(arg, told.session[i].session);
        }
    }
    alive_told_fini(&told);
    free(raw);
    return status;
}
