/* SPDX-License-Identifier: Apache-2.0 */
/* `.gpufl-upload-cursor.json`: tells other tools of this ecosystem which sessions are at
 * the backend. Format: schema/README.md, "Upload cursor". */
#include <json-c/json.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "upload/base/file.h"
#include "upload/engine_internal.h"

#define CURSOR_MAX_BYTES (16u << 20)
#define CURSOR_DEPTH     8

/* What is there already, or an empty object. */
static struct json_object *load(const struct root *root)
{
    char *text;
    size_t len;
    struct json_object *cursor = NULL;
    if (file_read(root->engine->config.sys, root->fd, LAYOUT_UPLOAD_CURSOR,
                  CURSOR_MAX_BYTES, &text, &len) == GPUFL_OK) {
        struct json_tokener *tokener = json_tokener_new_ex(CURSOR_DEPTH);
        if (tokener) {
            cursor = json_tokener_parse_ex(tokener, text, (int)len);
            json_tokener_free(tokener);
        }
        free(text);
    }
    if (cursor && !json_object_is_type(cursor, json_type_object)) {
        json_object_put(cursor);
        cursor = NULL;
    }
    return cursor ? cursor : json_object_new_object();
}

static struct json_object *member(struct json_object *cursor, const char *key,
                                  enum json_type type)
{
    struct json_object *value;
    if (!json_object_object_get_ex(cursor, key, &value) ||
        !json_object_is_type(value, type)) {
        value =
            type == json_type_array ? json_object_new_array() : json_object_new_object();
        json_object_object_add(cursor, key, value);
    }
    return value;
}

static void add_session(struct json_object *completed, const struct session *session,
                        const char *when)
{
    uint64_t lines = 0;
    if (json_object_object_get_ex(completed, session->id, NULL)) {
        return;
    }
    for (unsigned i = 0; i < session->streams; i++) {
        lines += session->stream[i]->lines;
    }
    struct json_object *entry = json_object_new_object();
    json_object_object_add(entry, "completed_at", json_object_new_string(when));
    json_object_object_add(entry, "events", json_object_new_int64((int64_t)lines));
    json_object_object_add(completed, session->id, entry);
}

void upload_cursor_write(struct root *root)
{
    const struct sys *sys = root->engine->config.sys;
    time_t now = (time_t)sys->wall_s();
    struct tm tm;
    char when[32];
    gmtime_r(&now, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    struct json_object *cursor = load(root);
    if (!cursor) {
        return;
    }
    json_object_object_add(cursor, "schema_version", json_object_new_int(2));
    member(cursor, "uploaded_files", json_type_array);
    struct json_object *completed =
        member(cursor, "completed_sessions", json_type_object);
    for (const struct session *s = root->sessions; s; s = s->next) {
        if (s->state == SESSION_DONE) {
            add_session(completed, s, when);
        }
    }
    const char *text = json_object_to_json_string_ext(cursor, JSON_C_TO_STRING_PLAIN);
    if (file_replace(sys, root->fd, LAYOUT_UPLOAD_CURSOR, text, strlen(text), false) !=
        GPUFL_OK) {
        log_info(root->engine->config.log, "cursor.off",
                 "root=%s note=\"other tools will not see what is uploaded\"",
                 root->path);
    }
    json_object_put(cursor);
    malloc_trim(0); /* a tree of thousands of sessions leaves holes of megabytes */
}
