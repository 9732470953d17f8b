/* SPDX-License-Identifier: Apache-2.0 */
/* Parses sidecars and manifests, none of which is trusted. */
#include "upload/source/identity.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/json_text.h"
#include "base/uuid.h"
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
        status = GPUFL_OK;
    }
    json_object_put(root);
    return status;
}

/* \return false if the list is there, and is none of channels. */
static bool manifest_parse_channels(struct json_object *root, struct manifest *out)
{
    struct json_object *list;
    if (!json_object_object_get_ex(root, "channels", &list)) {
        return true;
    }
    if (!json_object_is_type(list, json_type_array) ||
        json_object_array_length(list) > MANIFEST_CHANNELS_MAX) {
        return false;
    }
    size_t count = json_object_array_length(list);
    for (size_t i = 0; i < count; i++) {
        struct json_object *name = json_object_array_get_idx(list, i);
        const char *text = json_object_get_string(name);
        if (!json_object_is_type(name, json_type_string) || !layout_channel_ok(text)) {
            return false;
        }
        snprintf(out->channel[i], sizeof out->channel[i], "%s", text);
    }
    out->channels = (unsigned)count;
    return true;
}

gpufl_status manifest_parse(const char *text, size_t len, const char *session,
                            struct manifest *out)
{
    gpufl_status status = GPUFL_ERR_FORMAT;
    struct json_object *root = identity_parse_object(text, len);
    if (!root) {
        return status;
    }
    const char *boot_id = identity_get_string(root, "boot_id");
    memset(out, 0, sizeof *out);
    out->pid = identity_get_int(root, "pid", INT32_MAX);
    out->pid_namespace = identity_get_int(root, "pid_namespace", INT64_MAX);
    out->pid_start_ticks = identity_get_int(root, "pid_start_ticks", INT64_MAX);
    snprintf(out->id_nonce, sizeof out->id_nonce, "%s",
             identity_get_string(root, "id_nonce"));
    snprintf(out->lock_file, sizeof out->lock_file, "%s",
             identity_get_string(root, "lock_file"));
    if (identity_get_int(root, "schema_version", 1) == 1 &&
        strcmp(identity_get_string(root, "layout"), "live") == 0 &&
        strcmp(identity_get_string(root, "session_id"), session) == 0 &&
        strlen(boot_id) < sizeof out->boot_id && manifest_parse_channels(root, out)) {
        memcpy(out->boot_id, boot_id, strlen(boot_id) + 1);
        status = GPUFL_OK;
    }
    json_object_put(root);
    return status;
}

static struct json_object *identity_get_object(struct json_object *root, const char *key)
{
    struct json_object *value = NULL;
    return json_object_object_get_ex(root, key, &value) &&
                   json_object_is_type(value, json_type_object)
               ? value
               : NULL;
}

/* Parts of two texts, where a write was cut off, may seem to be one. */
static bool active_files_are_whole(const char *text, size_t len, struct json_object *root)
{
    const char *end = memmem(text, len, LAYOUT_TOLD_CRC, sizeof LAYOUT_TOLD_CRC - 1);
    int64_t crc = identity_get_int(root, "crc32c", UINT32_MAX);
    return end && crc >= 0 && crc32c(0, text, (size_t)(end - text)) == (uint32_t)crc;
}

/* What is to be appended next is told, and may not have come to its file. */
static void active_files_parse_sizes(struct json_object *root, bool whole,
                                     struct active_files *out)
{
    struct json_object *bytes = identity_get_object(root, "bytes");
    struct json_object *before = whole ? identity_get_object(root, "before") : NULL;
    struct json_object *inodes = whole ? identity_get_object(root, "inodes") : NULL;
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        const char *name = channel_name((enum channel)c);
        int64_t least = before ? identity_get_int(before, name, INT64_MAX) : -1;
        out->bytes[c] = bytes ? identity_get_int(bytes, name, INT64_MAX) : -1;
        out->least[c] = least >= 0 || !before ? least : out->bytes[c];
        out->inode[c] = inodes ? identity_get_int(inodes, name, INT64_MAX) : -1;
    }
    snprintf(out->lock_file, sizeof out->lock_file, "%s",
             identity_get_string(root, "lock_file"));
}

gpufl_status active_files_parse(const char *text, size_t len, struct active_files *out)
{
    struct json_object *root = identity_parse_object(text, len);
    struct json_object *active = root ? identity_get_object(root, "active") : NULL;
    gpufl_status status = GPUFL_ERR_FORMAT;
    memset(out, 0, sizeof *out);
    if (active) {
        for (int c = 0; c < CHANNEL_COUNT; c++) {
            int64_t number = identity_get_int(active, channel_name((enum channel)c),
                                              LAYOUT_NUMBER_MAX);
            out->number[c] = number > 0 ? (uint32_t)number : 0;
        }
        active_files_parse_sizes(root, active_files_are_whole(text, len, root), out);
        snprintf(out->boot_id, sizeof out->boot_id, "%s",
                 identity_get_string(root, "boot_id"));
        status = GPUFL_OK;
    }
    json_object_put(root);
    return status;
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
    struct manifest manifest;
    return identity_session_id(text, len, id) &&
           manifest_parse(text, len, id, &manifest) == GPUFL_OK;
}

bool manifest_is_newer(const char *text, size_t len)
{
    struct json_object *root = identity_parse_object(text, len);
    bool newer = root && identity_get_int(root, "schema_version", INT64_MAX) > 1;
    json_object_put(root);
    return newer;
}

bool identity_job_start_ns(const char *text, size_t len, int64_t *ts_ns)
{
    struct record_text line;
    return ndjson_find_type(text, len, RECORD_JOB_START, &line) &&
           record_field_int64(line.at, line.len, "ts_ns", ts_ns);
}
