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

void answer_json(struct answer *a, const char *text)
{
    answer_printf(a, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\') {
            answer_printf(a, "\\%c", *c);
        } else if (*c < 0x20) {
            answer_printf(a, "\\u%04x", *c);
        } else {
            answer_printf(a, "%c", *c);
        }
    }
    answer_printf(a, "\"");
}

void answer_html(struct answer *a, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (strchr("&<>\"'", *c)) {
            answer_printf(a, "&#%d;", *c);
        } else {
            answer_printf(a, "%c", *c);
        }
    }
}
