/* SPDX-License-Identifier: Apache-2.0 */
/* Parses replies, which are not trusted, to a bounded depth. */
#include "upload/http/reply.h"

#include <ctype.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "schema/protocol.h"
#include "upload/http/reply_json.h"

/* The name of a conflict may come in JSON or as plain text. */
static bool mentions(const char *body, size_t len, const char *word)
{
    return memmem(body, len, word, strlen(word)) != NULL;
}

void reply_read_batch(const char *body, size_t len, struct reply_batch *out)
{
    *out = (struct reply_batch){.accepted = -1};
    out->identity_conflict = mentions(body, len, PROTOCOL_IDENTITY_CONFLICT);
    out->sequence_conflict = mentions(body, len, PROTOCOL_SEQUENCE_CONFLICT);
    struct json_object *root = reply_json_parse(body, len);
    struct json_object *spool;
    if (!root) {
        return;
    }
    out->acknowledged = reply_json_bool(root, "window_acknowledged");
    out->accepted = reply_json_count(root, "accepted", -1);
    out->rejected = reply_json_count(root, "rejected", 0);
    if (json_object_object_get_ex(root, "spool_id", &spool) &&
        json_object_is_type(spool, json_type_string)) {
        snprintf(out->spool_id, sizeof out->spool_id, "%s",
                 json_object_get_string(spool));
    }
    json_object_put(root);
}

void reply_read_version(const char *body, size_t len, struct reply_version *out)
{
    struct json_object *versions;
    *out = (struct reply_version){.supported = true};
    struct json_object *root = reply_json_parse(body, len);
    if (!root) {
        return;
    }
    if (json_object_object_get_ex(root, "supported", &versions)) {
        out->readable = true;
        out->supported = reply_json_has(root, "supported", PROTOCOL_WIRE_VERSION);
    }
    out->zstd = reply_json_has(root, "encodings", "zstd");
    out->live_windows = reply_json_bool(root, "live_windows");
    out->registry = reply_json_bool(root, "window_registry");
    out->alive_after_ms = (uint64_t)reply_json_count(root, "alive_after_ms", 0);
    out->positions = reply_json_bool(root, "positions");
    out->epoch = reply_json_epoch(root);
    out->database = reply_json_database(root);
    json_object_put(root);
}

static bool is_header(const char *line, size_t len, const char *name)
{
    size_t name_len = strlen(name);
    return len >= name_len && strncasecmp(line, name, name_len) == 0;
}

void reply_read_header(const char *line, size_t len, struct reply_headers *out)
{
    static const char html[] = "text/html";
    if (is_header(line, len, "accept-encoding:")) {
        out->accept_encoding = true;
        out->accepts_zstd = mentions(line, len, "zstd");
    } else if (is_header(line, len, "content-type:")) {
        size_t at = sizeof "content-type:" - 1;
        while (at < len && (line[at] == ' ' || line[at] == '\t')) {
            at++;
        }
        out->web_page = is_header(line + at, len - at, html);
    }
}

bool reply_read_date(const char *line, size_t len, char out[REPLY_DATE_BYTES])
{
    static const char name[] = "date:";
    if (!is_header(line, len, name) || len - (sizeof name - 1) >= REPLY_DATE_BYTES) {
        return false;
    }
    snprintf(out, REPLY_DATE_BYTES, "%.*s", (int)(len - (sizeof name - 1)),
             line + sizeof name - 1);
    return true;
}

void reply_excerpt(const char *text, size_t len, char *out, size_t size)
{
    size_t n = len < size - 1 ? len : size - 1;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        out[i] = c == '"' || c == '\\' ? '\'' : c < 0x20 || c >= 0x7f ? '?' : (char)c;
    }
    out[n] = '\0';
}

void reply_message(const char *body, size_t len, char *out, size_t size)
{
    struct json_object *root = reply_json_parse(body, len);
    struct json_object *message;
    if (root && json_object_object_get_ex(root, "message", &message) &&
        json_object_is_type(message, json_type_string)) {
        body = json_object_get_string(message);
        len = strlen(body);
    }
    while (len > 0 && isspace((unsigned char)body[len - 1])) {
        len--;
    }
    reply_excerpt(body, len, out, size);
    json_object_put(root);
}

void reply_failure(const struct transport_reply *reply, char why[256])
{
    char said[160] = "";
    if (reply->status == 0) {
        snprintf(why, 256, "no answer: %.200s", reply->error);
        return;
    }
    if (!reply->web_page) { /* that says in HTML what the status says */
        reply_message(reply->body, reply->body_len, said, sizeof said);
    }
    snprintf(why, 256, "the backend answered %d%s%s", reply->status, *said ? ": " : "",
             said);
}
