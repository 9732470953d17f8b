/* SPDX-License-Identifier: Apache-2.0 */
/* Appends numbers, strings and JSON text to a growable buffer. */
#include "collector-lib/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct text *text, size_t more)
{
    if (text->failed) {
        return false;
    }
    if (text->cap - text->len >= more) {
        return true;
    }
    size_t cap = text->cap ? text->cap : 4096;
    while (cap - text->len < more) {
        cap *= 2;
    }
    char *data = realloc(text->data, cap);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->cap = cap;
    return true;
}

void text_fini(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

void text_clear(struct text *text)
{
    text->len = 0;
    text->failed = false;
}

void text_append(struct text *text, const char *bytes, size_t len)
{
    if (len && reserve(text, len)) {
        memcpy(text->data + text->len, bytes, len);
        text->len += len;
    }
}

void text_puts(struct text *text, const char *string)
{
    text_append(text, string, strlen(string));
}

void text_u64(struct text *text, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    text_append(text, digits + at, sizeof digits - at);
}

void text_i64(struct text *text, int64_t value)
{
    if (value < 0) {
        text_append(text, "-", 1);
        text_u64(text, (uint64_t)0 - (uint64_t)value);
    } else {
        text_u64(text, (uint64_t)value);
    }
}

void text_printf(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len >= 0 && reserve(text, (size_t)len + 1)) {
        vsnprintf(text->data + text->len, (size_t)len + 1, format, again);
        text->len += (size_t)len;
    }
    va_end(again);
}

/* Length of the valid UTF-8 sequence at \p s, 0 when it is none (RFC 3629). */
static size_t utf8_len(const unsigned char *s)
{
    static const struct {
        unsigned char first, last, second_min, second_max;
        size_t len;
    } row[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
        {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        if (s[0] < row[i].first || s[0] > row[i].last) {
            continue;
        }
        if (s[1] < row[i].second_min || s[1] > row[i].second_max) {
            return 0;
        }
        for (size_t k = 2; k < row[i].len; k++) {
            if ((s[k] & 0xc0) != 0x80) {
                return 0;
            }
        }
        return row[i].len;
    }
    return 0;
}

static size_t json_char(struct text *text, const unsigned char *s)
{
    static const char two[][3] = {
        ['"'] = "\\\"", ['\\'] = "\\\\", ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t",
    };
    if (s[0] < sizeof two / sizeof two[0] && two[s[0]][0]) {
        text_append(text, two[s[0]], 2);
        return 1;
    }
    if (s[0] < 0x20) {
        text_printf(text, "\\u%04x", s[0]);
        return 1;
    }
    if (s[0] < 0x80) {
        text_append(text, (const char *)s, 1);
        return 1;
    }
    size_t len = utf8_len(s);
    if (len == 0) {
        text_puts(text, "\xef\xbf\xbd");
        return 1;
    }
    text_append(text, (const char *)s, len);
    return len;
}

void text_json_string(struct text *text, const char *string)
{
    text_append(text, "\"", 1);
    for (const unsigned char *s = (const unsigned char *)string; *s;) {
        s += json_char(text, s);
    }
    text_append(text, "\"", 1);
}
