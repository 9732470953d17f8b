/* SPDX-License-Identifier: Apache-2.0 */
/* Checks each line by its bytes; only what is shown is parsed, by digest_line.c. */
#include "backend/digest/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/digest/digest_line.h"
#include "schema/channels.h"
#include "schema/layout.h"
#include "schema/protocol.h"
#include "schema/record_field.h"

#define TYPE_BYTES        64u
#define SESSION_KEY_BYTES (LAYOUT_NAME_MAX + 32)

/* Some writers do not escape what they write, so that a line is no JSON behind such a
 * text: what stands before or behind it is found by its bytes. */
static bool type_by_bytes(const char *line, size_t len, struct record_text *out)
{
    static const char key[] = "\"type\":\"";
    const char *at =
        memmem(line, len < TYPE_BYTES ? len : TYPE_BYTES, key, sizeof key - 1);
    if (!at) {
        return false;
    }
    at += sizeof key - 1;
    const char *end = memchr(at, '"', len - (size_t)(at - line));
    *out = (struct record_text){at, end ? (size_t)(end - at) : 0};
    return end != NULL;
}

static bool session_by_bytes(const char *line, size_t len, const char *session)
{
    char key[SESSION_KEY_BYTES];
    int n = snprintf(key, sizeof key, "\"session_id\":\"%s\"", session);
    return n > 0 && (size_t)n < sizeof key && memmem(line, len, key, (size_t)n);
}

/* It is most lines, which need not be read to their end: no key is hidden in escapes. Nor
 * is one behind the last quote, where the rows of a batch are. */
static bool session_is_once(const char *line, size_t len)
{
    static const char key[] = "session_id\"";
    const char *quote = memrchr(line, '"', len);
    const char *end = quote ? quote + 1 : line;
    const char *first = memmem(line, (size_t)(end - line), key, sizeof key - 1);
    return first && !memchr(line, '\\', len) &&
           !memmem(first + 1, (size_t)(end - first) - 1, key, sizeof key - 1);
}

/* A record that has two is of this session for some readers, and of another for others.
 */
static const char *session_fault(const char *line, size_t len, const char *session)
{
    bool named = record_field_is(line, len, "session_id", session);
    if (named && session_is_once(line, len)) {
        return NULL;
    }
    unsigned times = record_field_times(line, len, "session_id");
    return times > 1 ? "session_id is given twice"
           : named || (!times && session_by_bytes(line, len, session))
               ? NULL
               : "session_id differs from that of the request";
}

static bool copy_type(const char *line, size_t len, char out[TYPE_BYTES])
{
    struct record_text type;
    if ((!record_field_text(line, len, "type", &type) &&
         !type_by_bytes(line, len, &type)) ||
        type.len == 0 || type.len >= TYPE_BYTES) {
        return false;
    }
    memcpy(out, type.at, type.len);
    out[type.len] = '\0';
    return true;
}

static void note_channel(struct lines *out, const char *type)
{
    enum channel channel = out->channel[0] ? CHANNEL_COUNT : channel_of_record(type);
    if (channel != CHANNEL_COUNT) {
        snprintf(out->channel, sizeof out->channel, "%s", channel_name(channel));
    }
}

/* NULL when the line may be stored. */
static const char *fault_of(const char *line, size_t len, const char *session,
                            char type[TYPE_BYTES])
{
    if (!record_field_in_object(line, len)) {
        return "not a JSON object";
    }
    if (!copy_type(line, len, type)) {
        return "type is missing or not a name";
    }
    return session_fault(line, len, session);
}

static void reject(struct lines *out, uint64_t line, const char *reason)
{
    out->rejected++;
    if (out->errors < LINES_ERRORS_MAX) {
        out->error[out->errors].line = line;
        out->error[out->errors++].reason = reason;
    }
}

/* Starts a copy of what is kept, once the input cannot be stored as it is. */
static bool start_copy(struct lines *out, const char *raw, size_t len, size_t upto)
{
    if (out->kept) {
        return true;
    }
    out->kept = malloc(len + 1);
    if (!out->kept) {
        return false;
    }
    memcpy(out->kept, raw, upto);
    out->kept_len = upto;
    return true;
}

static void keep_line(struct lines *out, const char *line, size_t len)
{
    if (out->kept) {
        memcpy(out->kept + out->kept_len, line, len);
        out->kept_len += len;
        out->kept[out->kept_len++] = '\n';
    }
}

bool lines_read(const char *raw, size_t len, const char *session, struct lines *out)
{
    char type[TYPE_BYTES];
    *out = (struct lines){0};
    uint64_t line_number = 0;
    for (size_t at = 0; at < len;) {
        const char *line = raw + at;
        const char *newline = memchr(line, '\n', len - at);
        size_t line_len = newline ? (size_t)(newline - line) : len - at;
        size_t next = at + line_len + 1;
        const char *reason =
            line_len ? fault_of(line, line_len, session, type) : "empty line";
        line_number++;
        if ((reason || !newline) && !start_copy(out, raw, len, at)) {
            return false;
        }
        if (reason) {
            reject(out, line_number, reason);
        } else {
            out->accepted++;
            keep_line(out, line, line_len);
            note_channel(out, type);
            if (!digest_line(&out->digest, type, line, line_len)) {
                return false;
            }
        }
        at = next;
    }
    rows_fini(&out->digest.rows);
    return true;
}

void lines_fini(struct lines *lines)
{
    free(lines->kept);
    digest_fini(&lines->digest);
    *lines = (struct lines){0};
}
