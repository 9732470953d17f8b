/* SPDX-License-Identifier: Apache-2.0 */
/* Formats messages for people; no control character gets into one. */
#include "base/message.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Of ASCII, and those of ISO 6429 above it, which UTF-8 writes as C2 80 to C2 9F. */
static size_t control_bytes(const unsigned char *at)
{
    if (*at < 0x20 || *at == 0x7f) {
        return 1;
    }
    return *at == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f ? 2 : 0;
}

const char *message_reason(int error)
{
    /* Of "C" in all categories, newlocale(3) has one that it need not make. */
    locale_t english = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return english ? strerror_l(error, english) : "unknown";
}

const char *message_way_out(const char *fault, const char *way)
{
    size_t len = strlen(fault);
    return len && fault[len - 1] == ')' ? "" : way;
}

void message_put_escaped(struct text *out, const char *string)
{
    for (const unsigned char *at = (const unsigned char *)string; *at;) {
        size_t control = control_bytes(at);
        if (*at == '\n') {
            text_puts(out, "\\n");
        } else if (*at == '\t') {
            text_puts(out, "\\t");
        } else if (control) {
            text_printf(out, control == 2 ? "\\x%02x\\x%02x" : "\\x%02x", *at, at[1]);
        } else {
            text_append(out, (const char *)at, 1);
        }
        at += control ? control : 1;
    }
}

void message_escape(const char *text, char *out, size_t size)
{
    struct text line = {0};
    message_put_escaped(&line, text);
    text_append(&line, "", 1);
    snprintf(out, size, "%s", line.failed ? "out of memory" : line.data);
    text_fini(&line);
}

void message_line(const char *program, const char *format, ...)
{
    va_list args;
    struct text line = {0};
    char *text = NULL;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    text_printf(&line, "%s: ", program);
    message_put_escaped(&line, len < 0 ? "out of memory" : text);
    text_puts(&line, "\n");
    fwrite(line.data, 1, line.failed ? 0 : line.len, stderr);
    text_fini(&line);
    if (len >= 0) {
        free(text);
    }
}
