/* SPDX-License-Identifier: Apache-2.0 */
/* Parses verdicts and ends of streams. */
#include "upload/http/reply_positions.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "schema/protocol.h"
#include "upload/http/reply.h"
#include "upload/http/reply_json.h"

/* \return false unless the number is there, at most \p max. */
static bool positions_number(struct json_object *from, const char *key, int64_t max,
                             uint64_t *out)
{
    int64_t number = reply_json_count(from, key, -1);
    *out = (uint64_t)number;
    return number >= 0 && number <= max;
}

static bool positions_place_of(struct json_object *from, struct reply_end *out)
{
    uint64_t file, offset, lines, crc, file_crc;
    if (!json_object_is_type(from, json_type_object) ||
        !positions_number(from, "file", UINT32_MAX, &file) || file == 0 ||
        !positions_number(from, "offset", PROTOCOL_MAX_OFFSET, &offset) ||
        !positions_number(from, "lines", PROTOCOL_MAX_OFFSET, &lines) ||
        !positions_number(from, "crc", UINT32_MAX, &crc) ||
        !positions_number(from, "file_crc", UINT32_MAX, &file_crc)) {
        return false;
    }
    *out = (struct reply_end){.at = {.file = (uint32_t)file,
                                     .offset = offset,
                                     .lines = lines,
                                     .crc = (uint32_t)crc},
                              .file_crc = (uint32_t)file_crc};
    return true;
}

static bool positions_end(struct json_object *from, struct reply_end *out)
{
    uint64_t losses, skips;
    if (!positions_place_of(from, out) ||
        !positions_number(from, "losses", INT64_MAX, &losses)) {
        return false;
    }
    if (!positions_number(from, "skips", INT64_MAX, &skips)) {
        skips = 0;
    }
    out->losses = (uint32_t)losses;
    out->skips = (uint32_t)skips;
    out->lost_after = reply_json_bool(from, "lost_after");
    out->expired = reply_json_bool(from, "expired");
    return true;
}

static bool positions_end_of(struct json_object *from, struct reply_end *out)
{
    struct json_object *end;
    return json_object_object_get_ex(from, "end", &end) && positions_end(end, out);
}

static enum part_verdict positions_verdict(struct json_object *part)
{
    static const struct {
        const char *word;
        enum part_verdict verdict;
    } known[] = {
        {"stored", PART_STORED},     {"known", PART_KNOWN},
        {"conflict", PART_CONFLICT}, {"complete", PART_COMPLETE},
        {"expired", PART_EXPIRED},   {"without_positions", PART_WITHOUT_POSITIONS},
        {"damaged", PART_DAMAGED},   {"refused", PART_REFUSED},
        {"full", PART_FULL}};
    const char *word = reply_json_text(part, "verdict");
    for (size_t i = 0; word && i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].word, word) == 0) {
            return known[i].verdict;
        }
    }
    return PART_UNREADABLE;
}

static void positions_why(struct json_object *part, char *out, size_t size)
{
    struct json_object *errors = reply_json_array(part, "errors");
    struct json_object *first =
        errors ? json_object_array_get_idx(errors, 0) : NULL; /* NULL if it is empty */
    const char *text = json_object_is_type(first, json_type_object)
                           ? reply_json_text(first, "reason")
                           : NULL;
    if (text) {
        reply_excerpt(text, strlen(text), out, size);
    }
}

static uint32_t positions_owner(struct json_object *part)
{
    uint64_t uid;
    return positions_number(part, "owner", UINT32_MAX - 1, &uid) ? (uint32_t)uid + 1 : 0;
}

void reply_read_part(const char *body, size_t len, struct reply_part *out)
{
    *out = (struct reply_part){0};
    struct json_object *root = reply_json_parse(body, len);
    struct json_object *parts = root ? reply_json_array(root, "parts") : NULL;
    if (parts && json_object_array_length(parts) == 1) {
        struct json_object *part = json_object_array_get_idx(parts, 0);
        out->epoch = reply_json_epoch(root);
        out->database = reply_json_database(root);
        if (out->epoch && json_object_is_type(part, json_type_object) &&
            positions_end_of(part, &out->end)) {
            out->verdict = positions_verdict(part);
            out->owner = positions_owner(part);
            positions_why(part, out->why, sizeof out->why);
        }
    }
    json_object_put(root);
}

static struct reply_stream *positions_add(struct reply_streams *out, const char *channel)
{
    struct reply_stream *stream = &out->stream[out->count];
    if (!channel || !layout_channel_ok(channel) || out->count == REPLY_STREAMS_MAX) {
        out->readable = false; /* an answer that is cut short proves nothing */
        return NULL;
    }
    *stream = (struct reply_stream){0};
    snprintf(stream->channel, sizeof stream->channel, "%s", channel);
    out->count++;
    return stream;
}

static void positions_add_ends(struct json_object *list, struct reply_streams *out)
{
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        bool object = json_object_is_type(item, json_type_object);
        struct reply_stream *stream =
            positions_add(out, object ? reply_json_text(item, "channel") : NULL);
        out->readable = out->readable && stream && positions_end_of(item, &stream->end);
    }
}

static void positions_add_windowed(struct json_object *list, struct reply_streams *out)
{
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        bool text = json_object_is_type(item, json_type_string);
        struct reply_stream *stream =
            positions_add(out, text ? json_object_get_string(item) : NULL);
        if (stream) {
            stream->without_positions = true;
        }
    }
}

void reply_read_streams(const char *body, size_t len, struct reply_streams *out)
{
    out->readable = out->open = out->ended = out->expired = false;
    out->epoch = 0;
    out->count = 0;
    out->owner = 0;
    struct json_object *root = reply_json_parse(body, len);
    struct json_object *ends = root ? reply_json_array(root, "streams") : NULL;
    struct json_object *windowed =
        root ? reply_json_array(root, "without_positions") : NULL;
    const char *state = root ? reply_json_text(root, "state") : NULL;
    if (ends && windowed && state) {
        out->epoch = reply_json_epoch(root);
        out->database = reply_json_database(root);
        out->readable = out->epoch != 0;
        out->open = strcmp(state, "open") == 0;
        out->ended = strcmp(state, "ended") == 0;
        out->owner = positions_owner(root);
        positions_add_ends(ends, out);
        positions_add_windowed(windowed, out);
    }
    json_object_put(root);
}

bool reply_says_expired(int status, const char *body, size_t len)
{
    struct json_object *root = status == 410 ? reply_json_parse(body, len) : NULL;
    const char *error = root ? reply_json_text(root, "error") : NULL;
    bool expired = error && strcmp(error, "expired") == 0;
    json_object_put(root);
    return expired;
}

void reply_read_ends(int status, const char *body, size_t len, struct reply_streams *out)
{
    reply_read_streams(body, status == 200 ? len : 0, out);
    if (reply_says_expired(status, body, len)) {
        out->readable = out->expired = true;
    }
}

/* The refusals are those of this question: another server's 404 says nothing. */
void reply_read_place(int status, const char *body, size_t len, struct reply_place *out)
{
    struct json_object *root = reply_json_parse(body, len);
    struct json_object *place;
    const char *error = root ? reply_json_text(root, "error") : NULL;
    *out = (struct reply_place){.epoch = root ? reply_json_epoch(root) : 0,
                                .database = root ? reply_json_database(root) : 0};
    if (status == 200 && out->epoch && json_object_object_get_ex(root, "place", &place) &&
        positions_place_of(place, &out->end)) {
        out->what = PLACE_TOLD;
    } else if (status == 404 && error && strcmp(error, "not_found") == 0) {
        out->what = PLACE_NOTHING;
    } else if (reply_says_expired(status, body, len)) {
        out->what = PLACE_EXPIRED;
    }
    json_object_put(root);
}

const struct reply_stream *reply_stream_of(const struct reply_streams *streams,
                                           const char *channel)
{
    for (unsigned i = 0; i < streams->count; i++) {
        if (strcmp(streams->stream[i].channel, channel) == 0) {
            return &streams->stream[i];
        }
    }
    return NULL;
}

bool reply_says_complete(const char *body, size_t len, bool *complete)
{
    struct json_object *said;
    struct json_object *root = reply_json_parse(body, len);
    bool says = root && json_object_object_get_ex(root, "complete", &said) &&
                json_object_is_type(said, json_type_boolean);
    *complete = says && json_object_get_boolean(said);
    json_object_put(root);
    return says;
}
