/* SPDX-License-Identifier: Apache-2.0 */
/* Parses sidecars and manifests, none of which is trusted. */
#include "upload/source/identity.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "base/uuid.h"
#include "schema/plain_object.h"
#include "schema/records.h"
#include "upload/source/ndjson.h"

#define MAX_DEPTH      16
#define MAX_TREE_BYTES (256u << 10)

/* Whether its keys are spelled without escapes, each once: other readers may take the
 * first of two. */
static bool identity_is_plain(struct json_object *root, const char *text, size_t len)
{
    return record_field_members(text, len) == (unsigned)json_object_object_length(root);
}

/* A single plain JSON object with nothing but blanks behind it; NULL otherwise. */
static struct json_object *identity_parse_object(const char *text, size_t len)
{
    if (len > INT32_MAX || json_tree_bytes(text, len) > MAX_TREE_BYTES) {
        return NULL;
    }
    struct json_tokener *tokener = json_tokener_new_ex(MAX_DEPTH);
    if (!tokener) {
        return NULL;
    }
    json_tokener_set_flags(tokener,
                           JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS);
    struct json_object *root = json_tokener_parse_ex(tokener, text, (int)len);
    size_t end = json_tokener_get_parse_end(tokener);
    json_tokener_free(tokener);
    while (end < len && strchr(" \t\r\n", text[end]) && text[end]) {
        end++;
    }
    if (root && (!json_object_is_type(root, json_type_object) || end != len ||
                 !identity_is_plain(root, text, len))) {
        json_object_put(root);
        return NULL;
    }
    return root;
}

static const char *identity_get_string(struct json_object *root, const char *key)
{
    struct json_object *value;
    if (!json_object_object_get_ex(root, key, &value) ||
        !json_object_is_type(value, json_type_string)) {
        return "";
    }
    return json_object_get_string(value);
}

/* An integer in [0, max]; -1 otherwise. */
static int64_t identity_get_int(struct json_object *root, const char *key, int64_t max)
{
    struct json_object *value;
    if (!json_object_object_get_ex(root, key, &value) ||
        !json_object_is_type(value, json_type_int)) {
        return -1;
    }
    int64_t number = json_object_get_int64(value);
    return number >= 0 && number <= max ? number : -1;
}

gpufl_status sidecar_parse(const char *text, size_t len, const char *session,
                           const char *channel, uint32_t number, struct sidecar *out)
{
    gpufl_status status = GPUFL_ERR_FORMAT;
    struct json_object *root = identity_parse_object(text, len);
    if (!root) {
        return status;
    }
    const char *file = identity_get_string(root, "payload_file");
    struct layout_name name = layout_parse(file);
    int64_t bytes = identity_get_int(root, "payload_bytes", INT64_MAX);
    int64_t crc = identity_get_int(root, "payload_crc32", UINT32_MAX);
    memset(out, 0, sizeof *out);
    if (identity_get_int(root, "schema_version", 1) == 1 &&
        strcmp(identity_get_string(root, "type"), "transport_window") == 0 &&
        uuid_parse(identity_get_string(root, "window_id"), out->window_id) &&
        strcmp(identity_get_string(root, "session_id"), session) == 0 &&
        strcmp(identity_get_string(root, "channel"), channel) == 0 &&
        identity_get_int(root, "window_sequence", UINT32_MAX) == number &&
        name.kind == LAYOUT_NUMBERED && name.number == number &&
        strcmp(name.channel, channel) == 0 && bytes >= 0 && crc >= 0) {
        out->sequence = number;
        memcpy(out->payload_file, file, strlen(file) + 1); /* layout_parse bounds it */
        out->payload_bytes = (uint64_t)bytes;
        out->payload_crc32 = (uint32_t)crc;
        out->salvaged = identity_get_int(root, "opened_mono_ms", INT64_MAX) < 0;
        status = GPUFL_OK;
    }
    json_object_put(root);
    return status;
}

enum manifest_member {
    MANIFEST_VERSION,
    MANIFEST_LAYOUT,
    MANIFEST_SESSION,
    MANIFEST_NONCE,
    MANIFEST_PID,
    MANIFEST_BOOT_ID,
    MANIFEST_PID_NAMESPACE,
    MANIFEST_PID_START,
    MANIFEST_LOCK_FILE,
    MANIFEST_LOCK_BORN,
    MANIFEST_CHANNELS,
    MANIFEST_MEMBERS
};

static bool manifest_read(const char *text, size_t len,
                          struct record_text out[MANIFEST_MEMBERS])
{
    static const char *const keys[MANIFEST_MEMBERS] = {
        "schema_version", "layout",        "session_id",      "id_nonce",  "pid",
        "boot_id",        "pid_namespace", "pid_start_ticks", "lock_file", "lock_born_ns",
        "channels"};
    return json_is_object(text, len, MAX_DEPTH) &&
           plain_object_read(text, len, keys, MANIFEST_MEMBERS, out);
}

static const char *over_blanks(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* \return false if the list is there, and is none of channels. It is JSON, and ends in
 * its bracket. */
static bool manifest_parse_channels(struct record_text list, struct manifest *out)
{
    if (list.len && list.at[0] != '[') {
        return false;
    }
    const char *at = list.len ? over_blanks(list.at + 1) : "]";
    while (*at != ']') {
        const char *end = *at == '"' ? strchr(at + 1, '"') : NULL;
        size_t len = end ? (size_t)(end - at - 1) : 0;
        if (len == 0 || len > LAYOUT_CHANNEL_MAX ||
            out->channels == MANIFEST_CHANNELS_MAX) {
            return false;
        }
        char *name = out->channel[out->channels++];
        memcpy(name, at + 1, len);
        name[len] = '\0';
        if (!layout_channel_ok(name)) {
            return false;
        }
        at = over_blanks(end + 1);
        at = *at == ',' ? over_blanks(at + 1) : at;
    }
    return true;
}

gpufl_status manifest_parse(const char *text, size_t len, const char *session,
                            struct manifest *out)
{
    struct record_text m[MANIFEST_MEMBERS];
    if (!manifest_read(text, len, m)) {
        return GPUFL_ERR_FORMAT;
    }
    memset(out, 0, sizeof *out);
    out->pid = plain_object_int(m[MANIFEST_PID], INT32_MAX);
    out->pid_namespace = plain_object_int(m[MANIFEST_PID_NAMESPACE], INT64_MAX);
    out->pid_start_ticks = plain_object_int(m[MANIFEST_PID_START], INT64_MAX);
    plain_object_copy(m[MANIFEST_NONCE], out->id_nonce, sizeof out->id_nonce);
    plain_object_copy(m[MANIFEST_LOCK_FILE], out->lock_file, sizeof out->lock_file);
    out->lock_born_ns = plain_object_int(m[MANIFEST_LOCK_BORN], INT64_MAX);
    struct record_text boot_id = plain_object_string(m[MANIFEST_BOOT_ID]);
    if (plain_object_int(m[MANIFEST_VERSION], 1) != 1 ||
        !plain_object_is(plain_object_string(m[MANIFEST_LAYOUT]), "live") ||
        !plain_object_is(plain_object_string(m[MANIFEST_SESSION]), session) ||
        boot_id.len >= sizeof out->boot_id ||
        !manifest_parse_channels(m[MANIFEST_CHANNELS], out)) {
        return GPUFL_ERR_FORMAT;
    }
    plain_object_copy(m[MANIFEST_BOOT_ID], out->boot_id, sizeof out->boot_id);
    return GPUFL_OK;
}

/* \return whether it is an id that is valid as the name of a directory. */
static bool identity_session_id(const char *text, size_t len,
                                char id[LAYOUT_NAME_MAX + 1])
{
    struct json_object *root = identity_parse_object(text, len);
    const char *named = root ? identity_get_string(root, "session_id") : "";
    bool good = layout_name_ok(named);
    snprintf(id, LAYOUT_NAME_MAX + 1, "%s", good ? named : "");
    json_object_put(root);
    return good;
}

bool sidecar_names(const char *text, size_t len, const char *channel, uint32_t number,
                   char id[LAYOUT_NAME_MAX + 1])
{
    struct sidecar sidecar;
    return identity_session_id(text, len, id) &&
           sidecar_parse(text, len, id, channel, number, &sidecar) == GPUFL_OK;
}

bool manifest_names(const char *text, size_t len, char id[LAYOUT_NAME_MAX + 1])
{
    struct record_text m[MANIFEST_MEMBERS];
    struct manifest manifest;
    bool read = manifest_read(text, len, m);
    id[0] = '\0';
    if (read) {
        plain_object_copy(m[MANIFEST_SESSION], id, LAYOUT_NAME_MAX + 1);
    }
    return layout_name_ok(id) && manifest_parse(text, len, id, &manifest) == GPUFL_OK;
}

bool manifest_is_newer(const char *text, size_t len)
{
    struct record_text m[MANIFEST_MEMBERS];
    return manifest_read(text, len, m) &&
           plain_object_int(m[MANIFEST_VERSION], INT64_MAX) > 1;
}

bool identity_job_start_ns(const char *text, size_t len, int64_t *ts_ns)
{
    struct record_text line;
    return ndjson_find_type(text, len, RECORD_JOB_START, &line) &&
           record_field_int64(line.at, line.len, "ts_ns", ts_ns);
}
