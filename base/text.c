/* SPDX-License-Identifier: Apache-2.0 */
/* Appends numbers, strings and JSON text to a growable buffer. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

bool text_reserve(struct text *text, size_t more)
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

void text_fit(struct text *text)
{
    char *data = text->len > 0 ? realloc(text->data, text->len) : NULL;
    if (data) {
        text->data = data;
        text->cap = text->len;
    }
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
    if (len && text_reserve(text, len)) {
        memcpy(text->data + text->len, bytes, len);
        text->len += len;
    }
}

void text_join(struct text *text, const struct text *other)
{
    text->failed = text->failed || other->failed;
    text_append(text, other->data, other->len);
}

void text_puts(struct text *text, const char *string)
{
    text_append(text, string, strlen(string));
}

/* Most numbers of a row have one digit. Of longer ones, two digits take one division. */
void text_u64(struct text *text, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    if (value < 10) {
        text_char(text, (char)('0' + value));
        return;
    }
    for (; value >= 10; value /= 100) {
        unsigned two = (unsigned)(value % 100);
        digits[--at] = (char)('0' + two % 10);
        digits[--at] = (char)('0' + two / 10);
    }
    if (value) {
        digits[--at] = (char)('0' + value);
    }
    text_append(text, digits + at, sizeof digits - at);
}

void text_i64(struct text *text, int64_t value)
{
    if (value < 0) {
        text_char(text, '-');
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
    if (len >= 0 && text_reserve(text, (size_t)len + 1)) {
        vsnprintf(text->data + text->len, (size_t)len + 1, format, again);
        text->len += (size_t)len;
    }
    va_end(again);
}

/* Appends one character of JSON text. \return the bytes of \p s that it took. */
static size_t json_char(struct text *text, const unsigned char *s, size_t left)
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
    size_t len = utf8_length((const char *)s, left);
    text_append(text, len ? (const char *)s : UTF8_REPLACEMENT,
                len ? len : sizeof UTF8_REPLACEMENT - 1);
    return len ? len : 1;
}

void text_json_bytes(struct text *text, const char *bytes, size_t len)
{
    text_append(text, "\"", 1);
    for (size_t i = 0; i < len;) {
        i += json_char(text, (const unsigned char *)bytes + i, len - i);
    }
    text_append(text, "\"", 1);
}

void text_json_string(struct text *text, const char *string)
{
    text_json_bytes(text, string, strlen(string));
}

void text_utf8(struct text *text, const char *string)
{
    for (size_t i = 0, left = strlen(string); left;) {
        size_t len = utf8_length(string + i, left);
        text_append(text, len ? string + i : UTF8_REPLACEMENT,
                    len ? len : sizeof UTF8_REPLACEMENT - 1);
        i += len ? len : 1;
        left -= len ? len : 1;
    }
}
