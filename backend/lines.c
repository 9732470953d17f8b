/* SPDX-License-Identifier: Apache-2.0 */
/* Every line is checked by bytes; only what is shown is parsed: digest.h. */
#include "backend/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/channels.h"

#define TYPE_WITHIN 64u

/* The record's type, by the first `"type":"` near the line's start. */
static bool type_of(const char *line, size_t len, char out[64])
{
    static const char key[] = "\"type\":\"";
    size_t window = len < TYPE_WITHIN ? len : TYPE_WITHIN;
    const char *at = memmem(line, window, key, sizeof key - 1);
    if (!at) {
        return false;
    }
    at += sizeof key - 1;
    const char *end = memchr(at, '"', len - (size_t)(at - line));
    size_t n = end ? (size_t)(end - at) : 0;
    if (n == 0 || n >= 64) {
        return false;
    }
    memcpy(out, at, n);
    out[n] = '\0';
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
static const char *check(const char *line, size_t len, const char *mark, size_t mark_len,
                         char type[64])
{
    if (line[0] != '{' || line[len - 1] != '}') {
        return "not a JSON object";
    }
    if (!type_of(line, len, type)) {
        return "no type";
    }
    return memmem(line, len, mark, mark_len) ? NULL
                                             : "session_id differs from the header";
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

static void keep(struct lines *out, const char *line, size_t len)
{
    if (out->kept) {
        memcpy(out->kept + out->kept_len, line, len);
        out->kept_len += len;
        out->kept[out->kept_len++] = '\n';
    }
}

bool lines_read(const char *raw, size_t len, const char *session, struct lines *out)
{
    char mark[LAYOUT_NAME_MAX + 32];
    char type[64];
    size_t mark_len =
        (size_t)snprintf(mark, sizeof mark, "\"session_id\":\"%s\"", session);
    *out = (struct lines){0};
    uint64_t line_number = 0;
    for (size_t at = 0; at < len;) {
        const char *line = raw + at;
        const char *newline = memchr(line, '\n', len - at);
        size_t line_len = newline ? (size_t)(newline - line) : len - at;
        size_t next = at + line_len + 1;
        const char *reason =
            line_len ? check(line, line_len, mark, mark_len, type) : "empty line";
        line_number++;
        if ((reason || !newline) && !start_copy(out, raw, len, at)) {
            return false;
        }
        if (reason) {
            reject(out, line_number, reason);
        } else {
            out->accepted++;
            keep(out, line, line_len);
            note_channel(out, type);
            if (!digest_line(&out->digest, type, line, line_len)) {
                return false;
            }
        }
        at = next;
    }
    return true;
}

void lines_fini(struct lines *lines)
{
    free(lines->kept);
    digest_fini(&lines->digest);
    *lines = (struct lines){0};
}
