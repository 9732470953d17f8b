/* SPDX-License-Identifier: Apache-2.0 */
/* Takes log lines apart. Their values are quoted only where they hold a blank. */
#include "agent/log_json.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A number without leading zeros that JSON readers keep exactly. */
static bool is_number(const char *value, size_t len)
{
    return len > 0 && len < 19 && strspn(value, "0123456789") >= len &&
           (len == 1 || value[0] != '0');
}

static void append_field(struct text *out, const char *key, size_t key_len,
                         const char *value, size_t len)
{
    size_t before = out->len;
    text_puts(out, ",");
    text_json_bytes(out, key, key_len);
    text_puts(out, ":");
    if (is_number(value, len)) {
        text_append(out, value, len);
    } else {
        text_json_bytes(out, value, len);
    }
    if (out->len + 1 > LOG_JSON_MAX) { /* with the brace that is to come */
        out->len = before;
    }
}

/* `key=value` or `key="text"`; the text of a path may hold a quote, so its end is the one
 * that a blank or nothing follows. \return where the next field begins. */
static const char *append_next_field(struct text *out, const char *at)
{
    const char *key = at;
    size_t key_len = strcspn(at, "= ");
    if (at[key_len] != '=') {
        append_field(out, "text", 4, at, strlen(at));
        return at + strlen(at);
    }
    const char *value = at + key_len + 1;
    bool quoted = *value == '"';
    const char *end = value + quoted;
    while (*end && !(quoted ? *end == '"' && (end[1] == ' ' || !end[1]) : *end == ' ')) {
        end++;
    }
    append_field(out, key, key_len, value + quoted, (size_t)(end - value) - quoted);
    end += quoted && *end;
    return end + strspn(end, " ");
}

/* The word at \p line as field \p key. \return where the next word begins. */
static const char *append_word(struct text *out, const char *key, const char *line)
{
    size_t len = strcspn(line, " ");
    append_field(out, key, strlen(key), line, len);
    return line + len + strspn(line + len, " ");
}

void log_json(const char *line, int64_t ms, struct text *out)
{
    char when[40];
    struct tm tm;
    time_t s = (time_t)(ms / 1000);
    text_clear(out);
    gmtime_r(&s, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm);
    text_printf(out, "{\"ts\":\"%s.%03dZ\"", when, (int)(ms % 1000));
    line = append_word(out, "level", line);
    line = append_word(out, "event", line);
    while (*line) {
        line = append_next_field(out, line);
    }
    text_puts(out, "}");
}
