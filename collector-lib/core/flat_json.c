/* SPDX-License-Identifier: Apache-2.0 */
/* A cursor over the text; strings are unescaped where they stand. */
#include "collector-lib/core/flat_json.h"

#include <stdint.h>
#include <string.h>

#define DEPTH_MAX 16

struct cursor {
    char *at;
    char *end;
    unsigned line;
};

static void skip_blanks(struct cursor *c)
{
    while (c->at < c->end && strchr(" \t\r\n", *c->at) && *c->at) {
        c->line += *c->at == '\n';
        c->at++;
    }
}

static bool take(struct cursor *c, char wanted)
{
    skip_blanks(c);
    if (c->at < c->end && *c->at == wanted) {
        c->at++;
        return true;
    }
    return false;
}

static int hex4(const char *text)
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

/* The escape behind a backslash; NULL when it is none. Writes never overtake reads. */
static char *unescape(struct cursor *c, char *out)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    const char *found = *c->at ? strchr(from, *c->at) : NULL;
    if (found) {
        *out++ = to[found - from];
        c->at++;
        return out;
    }
    int code = *c->at == 'u' && c->end - c->at >= 5 ? hex4(c->at + 1) : -1;
    if (code <= 0) { /* NUL would end the string */
        return NULL;
    }
    c->at += 5;
    return put_utf8(out, code);
}

/* The cursor is behind the opening quote. */
static char *string(struct cursor *c)
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
        out = c->at < c->end ? unescape(c, out) : NULL;
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

static bool skip_nested(struct cursor *c)
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
        if (depth > DEPTH_MAX || (ch == '"' && !string(c))) {
            return false;
        }
    } while (depth > 0);
    return true;
}

/* A bare word or number; *after gets the byte that ended it, to be put back. */
static enum flat_json_kind bare(struct cursor *c, char **value, bool *ok)
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

static bool member(struct cursor *c,
                   void (*visit)(void *arg, const char *key, enum flat_json_kind kind,
                                 const char *value),
                   void *arg)
{
    char *key = take(c, '"') ? string(c) : NULL;
    if (!key || !take(c, ':')) {
        return false;
    }
    skip_blanks(c);
    if (c->at >= c->end) {
        return false;
    }
    if (*c->at == '"') {
        c->at++;
        char *value = string(c);
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
    enum flat_json_kind kind = bare(c, &value, &ok);
    char ended_by = *c->at;
    if (ok) {
        *c->at = '\0';
        visit(arg, key, kind, value);
        *c->at = ended_by;
    }
    return ok;
}

bool flat_json_parse(char *text, size_t len,
                     void (*visit)(void *arg, const char *key, enum flat_json_kind kind,
                                   const char *value),
                     void *arg, unsigned *line)
{
    struct cursor c = {.at = text, .end = text + len, .line = 1};
    bool ok = take(&c, '{');
    if (ok && !take(&c, '}')) {
        do {
            ok = member(&c, visit, arg);
        } while (ok && take(&c, ','));
        ok = ok && take(&c, '}');
    }
    skip_blanks(&c);
    *line = c.line;
    return ok && c.at == c.end;
}
