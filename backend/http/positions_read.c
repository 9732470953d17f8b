/* SPDX-License-Identifier: Apache-2.0 */
/* Parses lists of parts and claims, of a bounded size, and holds bytes against them. */
#include "backend/http/positions_read.h"

#include <stdlib.h>
#include <string.h>

#include "backend/http/json_read.h"
#include "base/crc32c.h"
#include "schema/protocol.h"

#define PLACE_EXPECTED "expected {file, offset, lines, crc}"

static bool read_place(struct json_object *from, struct stream_place *out)
{
    int64_t file, offset, lines, crc;
    if (!json_object_is_type(from, json_type_object) ||
        !json_read_count(from, "file", UINT32_MAX, &file) || file == 0 ||
        !json_read_count(from, "offset", PROTOCOL_MAX_OFFSET, &offset) ||
        !json_read_count(from, "lines", PROTOCOL_MAX_OFFSET, &lines) ||
        !json_read_count(from, "crc", UINT32_MAX, &crc)) {
        return false;
    }
    *out = (struct stream_place){.file = (uint32_t)file,
                                 .offset = (uint64_t)offset,
                                 .lines = (uint64_t)lines,
                                 .crc = (uint32_t)crc};
    return true;
}

static bool read_place_of(struct json_object *part, const char *key,
                          struct stream_place *out)
{
    struct json_object *value;
    return json_object_object_get_ex(part, key, &value) && read_place(value, out);
}

static bool read_start(struct json_object *part, struct stream_start *out)
{
    struct json_object *value;
    int64_t file, offset, crc;
    if (!json_object_object_get_ex(part, "start", &value)) {
        return true;
    }
    if (!json_object_is_type(value, json_type_object) ||
        !json_read_count(value, "file", UINT32_MAX, &file) || file == 0 ||
        !json_read_count(value, "offset", PROTOCOL_MAX_OFFSET, &offset) ||
        !json_read_count(value, "file_crc", UINT32_MAX, &crc) ||
        (offset == 0 && crc != 0)) {
        return false;
    }
    *out = (struct stream_start){.given = true,
                                 .file = (uint32_t)file,
                                 .offset = (uint64_t)offset,
                                 .file_crc = (uint32_t)crc};
    return true;
}

static const char *read_part(struct json_object *from, struct stream_part *out)
{
    if (!json_object_is_type(from, json_type_object)) {
        return "parts: not a list of objects";
    }
    if (!json_read_name(from, "session", out->session, sizeof out->session) ||
        !layout_name_ok(out->session)) {
        return "session: missing or not a session id";
    }
    if (!json_read_name(from, "channel", out->channel, sizeof out->channel) ||
        !layout_channel_ok(out->channel)) {
        return "channel: missing or not a channel name";
    }
    if (!read_place_of(from, "begin", &out->begin)) {
        return "begin: missing or not a place (" PLACE_EXPECTED ")";
    }
    if (!read_place_of(from, "end", &out->end)) {
        return "end: missing or not a place (" PLACE_EXPECTED ")";
    }
    if (!read_start(from, &out->start)) {
        return "start: not a start (expected {file, offset, file_crc})";
    }
    return json_read_truth(from, "skip", &out->skip) &&
                   json_read_truth(from, "reopens", &out->reopens) &&
                   json_read_truth(from, "added_newline", &out->added_newline)
               ? NULL
               : "skip, reopens, added_newline: not true or false";
}

static const char *read_list(struct json_object *root, struct positions_parts *out)
{
    struct json_object *list;
    if (!json_object_object_get_ex(root, "parts", &list) ||
        !json_object_is_type(list, json_type_array) ||
        json_object_array_length(list) == 0 ||
        json_object_array_length(list) > PROTOCOL_MAX_PARTS) {
        return "parts: missing or not a list of 1 to 1024 parts";
    }
    out->part = calloc(json_object_array_length(list), sizeof *out->part);
    if (!out->part) {
        return "out of memory";
    }
    const char *fault = NULL;
    for (size_t n = json_object_array_length(list); !fault && out->count < n;) {
        fault = read_part(json_object_array_get_idx(list, out->count),
                          &out->part[out->count]);
        out->count += !fault;
    }
    return fault;
}

const char *positions_read_parts(const char *line, size_t len,
                                 struct positions_parts *out)
{
    *out = (struct positions_parts){0};
    struct json_object *root = json_read_object(line, len);
    const char *fault = root ? read_list(root, out)
                             : "the first line is not a JSON object of at most 1 MiB";
    json_object_put(root);
    if (fault) {
        positions_parts_fini(out);
    }
    return fault;
}

/* A loss moves forward to another file, or is a file that was rewritten. */
static bool start_fits(const struct stream_part *p)
{
    return !p->start.given ||
           (p->start.file == p->end.file && p->start.file >= p->begin.file &&
            (p->start.file != p->begin.file || p->start.offset != p->begin.offset));
}

static bool places_fit(const struct stream_part *p)
{
    uint64_t from = stream_part_from(p);
    if (p->end.file < p->begin.file || !start_fits(p) || p->end.offset < from ||
        p->end.lines < p->begin.lines || (p->skip && p->added_newline)) {
        return false;
    }
    uint64_t bytes = p->end.offset - from;
    bool rewritten = p->start.given && p->start.file == p->begin.file;
    return p->end.lines - p->begin.lines <= bytes &&
           (bytes > 0 || (rewritten && !p->skip && !p->added_newline));
}

bool positions_give_bytes(struct positions_parts *parts, const char *raw, size_t len)
{
    for (size_t i = 0; i < parts->count; i++) {
        struct stream_part *p = &parts->part[i];
        if (!places_fit(p)) {
            return false;
        }
        if (p->skip) {
            continue;
        }
        uint64_t bytes = p->end.offset - stream_part_from(p) + p->added_newline;
        if (bytes > len) {
            return false;
        }
        p->bytes = raw;
        p->len = (size_t)bytes;
        raw += p->len;
        len -= p->len;
    }
    return len == 0;
}

static uint64_t newlines(const char *data, size_t len)
{
    uint64_t count = 0;
    const char *end = data + len;
    while (data < end && (data = memchr(data, '\n', (size_t)(end - data)))) {
        count++;
        data++;
    }
    return count;
}

bool positions_fit(const struct stream_part *part)
{
    if (part->skip) {
        return true;
    }
    size_t own = part->len - part->added_newline;
    if (part->len > 0 &&
        (part->bytes[part->len - 1] != '\n' ||
         (part->added_newline && own > 0 && part->bytes[own - 1] == '\n'))) {
        return false;
    }
    return newlines(part->bytes, part->len) == part->end.lines - part->begin.lines &&
           crc32c(part->begin.crc, part->bytes, own) == part->end.crc;
}

void positions_parts_fini(struct positions_parts *parts)
{
    free(parts->part);
    *parts = (struct positions_parts){0};
}

static bool read_claimed(struct json_object *from, struct claim_channel *out)
{
    return json_object_is_type(from, json_type_object) &&
           json_read_name(from, "channel", out->channel, sizeof out->channel) &&
           layout_channel_ok(out->channel) && read_place(from, &out->end) &&
           json_read_truth(from, "lost_after", &out->lost_after);
}

static const char *read_channels(struct json_object *list, struct store_claim *out)
{
    size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list)
                                                          : PROTOCOL_MAX_PARTS + 1;
    if (n > PROTOCOL_MAX_PARTS) {
        return "channels: not a list of at most 1024 channels";
    }
    struct claim_channel *channel = calloc(n + 1, sizeof *channel);
    if (!channel) {
        return "out of memory";
    }
    for (size_t i = 0; i < n; i++) {
        if (!read_claimed(json_object_array_get_idx(list, i), &channel[i])) {
            free(channel);
            return "channels: not an end of a channel (expected {channel, file, offset, "
                   "lines, crc})";
        }
    }
    out->channel = channel;
    out->channels = n;
    return NULL;
}

static bool read_owner(struct json_object *root, uint32_t *out)
{
    int64_t uid = -1;
    bool told = json_object_object_get_ex(root, "owner", NULL);
    bool good = !told || json_read_count(root, "owner", UINT32_MAX - 1, &uid);
    *out = (uint32_t)(uid + 1);
    return good;
}

const char *positions_read_claim(const char *body, size_t len, struct store_claim *out)
{
    struct json_object *list;
    out->channel = NULL;
    out->channels = 0;
    struct json_object *root = len ? json_read_object(body, len) : NULL;
    const char *fault =
        len && !root ? "the body is not a JSON object of at most 1 MiB"
        : !json_read_truth(root, "without_positions", &out->without_positions)
            ? "without_positions: not a boolean"
        : !json_read_truth(root, "reopens", &out->reopens)   ? "reopens: not a boolean"
        : !read_owner(root, &out->owner)                     ? "owner: not a user id"
        : json_object_object_get_ex(root, "channels", &list) ? read_channels(list, out)
                                                             : NULL;
    json_object_put(root);
    return fault;
}
