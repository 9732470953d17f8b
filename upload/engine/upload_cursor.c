/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the upload cursor, and keeps what other tools wrote there. */
#include "upload/engine/upload_cursor.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/text.h"
#include "upload/core/stream.h"

#define CURSOR_MAX_BYTES      (16u << 20)
#define CURSOR_MAX_TREE_BYTES (48u << 20) /* about 30,000 sessions */
#define CURSOR_DEPTH          8
#define TOO_LARGE             "it is too large; remove it"
#define NOTHING               "{\"schema_version\":2,\"uploaded_files\":[],\"completed_sessions\":{}}"

/* The file's text while entries are added. */
struct cursor_text {
    struct text text;
    char when[32];
    struct json_object
        *completed; /**< the sessions in it; NULL = those with `in_cursor` */
    bool grouped;   /**< two sessions may have the same name */
};

static struct json_object *cursor_member(struct json_object *cursor, const char *key,
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

/* Other tools write here, too: their content stays, with `completed_sessions` moved to
 * the end. json-c also reads what is not JSON, such as `[0.]`, and would write it again.
 */
static void cursor_take_over(struct cursor_text *cursor, const char *theirs, size_t len)
{
    struct json_tokener *tokener = json_is_object(theirs, len, CURSOR_DEPTH)
                                       ? json_tokener_new_ex(CURSOR_DEPTH)
                                       : NULL;
    struct json_object *tree =
        tokener ? json_tokener_parse_ex(tokener, theirs, (int)len) : NULL;
    if (tokener) {
        json_tokener_free(tokener);
    }
    if (!json_object_is_type(tree, json_type_object)) {
        json_object_put(tree);
        tree = json_object_new_object();
    }
    json_object_object_add(tree, "schema_version", json_object_new_int(2));
    cursor_member(tree, "uploaded_files", json_type_array);
    cursor->completed =
        json_object_get(cursor_member(tree, "completed_sessions", json_type_object));
    json_object_object_del(tree, "completed_sessions");
    json_object_object_add(tree, "completed_sessions",
                           json_object_get(cursor->completed));
    text_puts(&cursor->text,
              json_object_to_json_string_ext(tree, JSON_C_TO_STRING_PLAIN));
    json_object_put(tree);
}

/* \return why the file must stay as it is; NULL if it was read, or is none. With \p parse
 * its sessions are looked for, too, in what we wrote ourselves. */
static const char *cursor_load(const struct root *root, struct cursor_text *cursor,
                               bool parse)
{
    char *text;
    size_t len;
    if (!file_dir_is_ours(root->fd)) {
        return "other users can write to the directory";
    }
    gpufl_status status =
        file_read_owned(root->engine->config.sys, root->fd, LAYOUT_UPLOAD_CURSOR,
                        CURSOR_MAX_BYTES, &text, &len);
    if (status != GPUFL_OK && status != GPUFL_ERR_NOT_FOUND) {
        return status == GPUFL_ERR_IO       ? strerror(errno)
               : status == GPUFL_ERR_FORMAT ? TOO_LARGE
                                            : "out of memory";
    }
    if (!parse && text && len > 0 && len == root->cursor_bytes &&
        crc32c(0, text, len) == root->cursor_crc32c) {
        cursor->text = (struct text){.data = text, .len = len, .cap = len};
        return NULL; /* as we wrote it */
    }
    if (text && json_tree_bytes(text, len) > CURSOR_MAX_TREE_BYTES) {
        free(text);
        return TOO_LARGE;
    }
    cursor_take_over(cursor, text ? text : NOTHING, text ? len : strlen(NOTHING));
    free(text);
    return cursor->text.failed ? "out of memory" : NULL;
}

static bool cursor_time(struct json_object *entry, int64_t *out)
{
    struct json_object *when;
    struct tm tm = {0};
    const char *text = json_object_object_get_ex(entry, "completed_at", &when) &&
                               json_object_is_type(when, json_type_string)
                           ? json_object_get_string(when)
                           : "";
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    *out = end && !*end ? (int64_t)timegm(&tm) : 0;
    return *out > 0;
}

bool upload_cursor_find(const struct root *root, const char *id, int64_t *completed_s)
{
    struct cursor_text cursor = {0};
    struct json_object *entry;
    bool found = !cursor_load(root, &cursor, true) &&
                 json_object_object_get_ex(cursor.completed, id, &entry) &&
                 json_object_is_type(entry, json_type_object) &&
                 cursor_time(entry, completed_s);
    text_fini(&cursor.text);
    json_object_put(cursor.completed);
    return found;
}

static void cursor_say_off(struct root *root, const char *reason)
{
    if (!root->cursor_off) {
        root->cursor_off = true;
        log_info(
            root->engine->config.log, "cursor.off",
            "root=%s reason=\"%s\" note=\"other tools will not see what is uploaded\"",
            root->path, reason);
    }
}

static bool cursor_names(const struct cursor_text *cursor, const char *id)
{
    char key[LAYOUT_NAME_MAX + 8];
    int len = snprintf(key, sizeof key, "\"%s\":{", id);
    return (cursor->completed &&
            json_object_object_get_ex(cursor->completed, id, NULL)) ||
           (cursor->grouped &&
            memmem(cursor->text.data, cursor->text.len, key, (size_t)len));
}

/* Inserts an entry before the two braces that end the text. A session's name needs no
 * escaping. */
static bool cursor_add(struct cursor_text *cursor, const char *id, uint64_t lines)
{
    struct text *text = &cursor->text;
    if (cursor_names(cursor, id)) {
        return true;
    }
    text->len -= 2;
    text_printf(text, "%s\"%s\":{\"completed_at\":\"%s\",\"events\":%" PRIu64 "}}}",
                text->data[text->len - 1] == '{' ? "" : ",", id, cursor->when, lines);
    if (text->failed) {
        text->len += 2; /* what stands there stays as it was */
    }
    return !text->failed;
}

static void cursor_add_parked(void *arg, struct parked_session *s)
{
    const char *slash = strrchr(s->node.path, '/');
    struct cursor_text *cursor = arg;
    if (!s->in_cursor || cursor->completed) {
        struct packed_stream stream[SCAN_CHANNELS_MAX];
        uint64_t lines = 0;
        parked_streams(s, stream);
        for (unsigned i = 0; i < s->streams; i++) {
            lines += stream[i].lines;
        }
        s->in_cursor = cursor_add(cursor, slash ? slash + 1 : s->node.path, lines);
    }
}

static void cursor_add_done(struct cursor_text *cursor, struct root *root)
{
    for (struct session *s = root->sessions; s; s = s->next) {
        uint64_t lines = 0;
        for (unsigned i = 0; i < s->streams; i++) {
            lines += s->stream[i]->lines;
        }
        if (s->state == SESSION_DONE && (!s->in_cursor || cursor->completed)) {
            s->in_cursor = cursor_add(cursor, s->id, lines);
        }
    }
}

bool upload_cursor_write(struct root *root)
{
    const struct sys *sys = root->engine->config.sys;
    struct cursor_text cursor = {.grouped = root->grouped};
    time_t now = (time_t)sys->wall_s();
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(cursor.when, sizeof cursor.when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    const char *blocked = cursor_load(root, &cursor, false);
    if (blocked) {
        cursor_say_off(root, blocked);
        text_fini(&cursor.text);
        json_object_put(cursor.completed);
        return true;
    }
    parked_each_complete(&root->parked, cursor_add_parked, &cursor);
    cursor_add_done(&cursor, root);
    root->cursor_bytes = cursor.text.len;
    root->cursor_crc32c = crc32c(0, cursor.text.data, cursor.text.len);
    bool written = file_replace(sys, root->fd, LAYOUT_UPLOAD_CURSOR, cursor.text.data,
                                cursor.text.len, false) == GPUFL_OK;
    if (!written) {
        cursor_say_off(root, strerror(errno));
    }
    text_fini(&cursor.text);
    if (cursor.completed) {
        json_object_put(cursor.completed);
        malloc_trim(0); /* a tree of thousands of sessions leaves megabytes of holes */
    }
    return written;
}
