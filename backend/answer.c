/* SPDX-License-Identifier: Apache-2.0 */
/* Builds answers; what came from a session is escaped on its way out. */
#include "backend/answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void answer_printf(struct answer *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    while (len >= 0 && !a->failed && a->cap - a->len <= (size_t)len) {
        size_t cap = a->cap ? a->cap * 2 : 4096;
        char *data = realloc(a->data, cap);
        a->failed = !data;
        if (data) {
            a->data = data;
            a->cap = cap;
        }
    }
    if (len >= 0 && !a->failed) {
        vsnprintf(a->data + a->len, (size_t)len + 1, format, again);
        a->len += (size_t)len;
    }
    va_end(again);
}

/* Bytes of the well-formed UTF-8 sequence at \p c, 0 when it is none: The Unicode
 * Standard, table 3-7. */
static size_t sequence_at(const unsigned char *c)
{
    size_t len = *c < 0x80   ? 1
                 : *c < 0xc2 ? 0
                 : *c < 0xe0 ? 2
                 : *c < 0xf0 ? 3
                 : *c < 0xf5 ? 4
                             : 0;
    unsigned least = *c == 0xe0 ? 0xa0 : *c == 0xf0 ? 0x90 : 0x80;
    unsigned most = *c == 0xed ? 0x9f : *c == 0xf4 ? 0x8f : 0xbf;
    for (size_t i = 1; i < len; i++) {
        if (c[i] < least || c[i] > most) {
            return 0;
        }
        least = 0x80;
        most = 0xbf;
    }
    return len;
}

void answer_json(struct answer *a, const char *text)
{
    answer_printf(a, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        size_t len = sequence_at(c);
        if (len == 0) {
            answer_printf(a, "\\ufffd"); /* some writers do not look at what they write */
        } else if (*c == '"' || *c == '\\') {
            answer_printf(a, "\\%c", *c);
        } else if (*c < 0x20) {
            answer_printf(a, "\\u%04x", *c);
        } else {
            answer_printf(a, "%.*s", (int)len, (const char *)c);
        }
        c += len ? len : 1;
    }
    answer_printf(a, "\"");
}

void answer_text(struct answer *a, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        const unsigned char *good = c;
        for (size_t len; *c && (len = sequence_at(c)) > 0; c += len) {
        }
        answer_printf(a, "%.*s%s", (int)(c - good), (const char *)good,
                      *c ? "\xef\xbf\xbd" : "");
        c += *c != 0;
    }
}
