/* SPDX-License-Identifier: Apache-2.0 */
/* Moves a cursor over the text; strings are unescaped in place. */
#include "collector-lib/core/flat_json.h"

#include <stdint.h>
#include <string.h>

#define DEPTH_MAX 16

struct flat_walk {
    char *at;
    char *end;
    char *line_begin;
    unsigned line;
};

static void skip_blanks(struct flat_walk *c)
{
    while (c->at < c->end && strchr(" \t\r\n", *c->at) && *c->at) {
        if (*c->at++ == '\n') {
            c->line++;
            c->line_begin = c->at;
        }
    }
}

static bool take_char(struct flat_walk *c, char wanted)
{
    skip_blanks(c);
    if (c->at < c->end && *c->at == wanted) {
        c->at++;
        return true;
    }
    return false;
}

static int hex_of_4(const char *text)
{
    int value = 0;
    for (int i = 0; i < 4; i++) {
        char c = text[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

/* One code point below U+10000 as UTF-8; surrogates become U+FFFD. */
static char *put_utf8(char *out, int code)
{
    if (code >= 0xd800 && code <= 0xdfff) {
        code = 0xfffd;
    }
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    return out;
}

/* The escape behind a backslash; NULL if it is not one. Never longer than it was. */
static char *take_escape(struct flat_walk *c, char *out)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    const char *found = *c->at ? strchr(from, *c->at) : NULL;
    if (found) {
        *out++ = to[found - from];
        c->at++;
        return out;
    }
    int code = *c->at == 'u' && c->end - c->at >= 5 ? hex_of_4(c->at + 1) : -1;
    if (code <= 0) { /* NUL would end the string */
        return NULL;
    }
    c->at += 5;
    return put_utf8(out, code);
}

/* The cursor is behind the opening quote. */
static char *take_json_string(struct flat_walk *c)
{
    char *begin = c->at;
    char *out = c->at;
    while (c->at < c->end && *c->at != '"') {
        if ((unsigned char)*c->at < 0x20) {
            return NULL;
        }
        if (*c->at != '\\') {
            *out++ = *c->at++;
            continue;
        }
        c->at++;
        out = c->at < c->end ? take_escape(c, out) : NULL;
        if (!out) {
            return NULL;
        }
    }
    if (c->at >= c->end) {
        return NULL;
    }
    c->at++;
    *out = '\0';
    return begin;
}

static bool skip_nested(struct flat_walk *c)
{
    int depth = 0;
    do {
        skip_blanks(c);
        if (c->at >= c->end) {
            return false;
        }
        char ch = *c->at++;
        depth += ch == '{' || ch == '[';
        depth -= ch == '}' || ch == ']';
        if (depth > DEPTH_MAX || (ch == '"' && !take_json_string(c))) {
            return false;
        }
    } while (depth > 0);
    return true;
}

/* A bare word or number; *ok says whether it is one. */
static enum flat_json_kind take_bare(struct flat_walk *c, char **value, bool *ok)
{
    *value = c->at;
    size_t len = strspn(c->at, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
    c->at += len;
    *ok = len > 0;
    if (len == 4 && strncmp(*value, "true", 4) == 0) {
        return FLAT_TRUE;
    }
    if (len == 5 && strncmp(*value, "false", 5) == 0) {
        return FLAT_FALSE;
    }
    if (len == 4 && strncmp(*value, "null", 4) == 0) {
        return FLAT_NULL;
    }
    *ok = len > 0 && strspn(*value, "+-.0123456789eE") >= len;
    return FLAT_NUMBER;
}

static bool take_member(struct flat_walk *c, flat_json_visit *visit, void *arg)
{
    char *key = take_char(c, '"') ? take_json_string(c) : NULL;
    if (!key || !take_char(c, ':')) {
        return false;
    }
    skip_blanks(c);
    if (c->at >= c->end) {
        return false;
    }
    if (*c->at == '"') {
        c->at++;
        char *value = take_json_string(c);
        if (value) {
            visit(arg, key, FLAT_STRING, value);
        }
        return value != NULL;
    }
    if (*c->at == '{' || *c->at == '[') {
        bool ok = skip_nested(c);
        if (ok) {
            visit(arg, key, FLAT_NESTED, "");
        }
        return ok;
    }
    char *value;
    bool ok;
    enum flat_json_kind kind = take_bare(c, &value, &ok);
    char ended_by = *c->at;
    if (ok) {
        *c->at = '\0';
        visit(arg, key, kind, value);
        *c->at = ended_by;
    }
    return ok;
}

bool flat_json_parse(char *text, size_t len, flat_json_visit *visit, void *arg,
                     struct flat_json_place *stopped)
{
    struct flat_walk c = {.at = text, .end = text + len, .line_begin = text, .line = 1};
    bool ok = take_char(&c, '{');
    if (ok && !take_char(&c, '}')) {
        do {
            ok = take_member(&c, visit, arg);
        } while (ok && take_char(&c, ','));
        ok = ok && take_char(&c, '}');
    }
    skip_blanks(&c);
    *stopped = (struct flat_json_place){.line = c.line,
                                        .column = (unsigned)(c.at - c.line_begin) + 1};
    return ok && c.at == c.end;
}
