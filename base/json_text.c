/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over JSON without keeping any of it. */
#include "base/json_text.h"

#include <ctype.h>
#include <string.h>

#define OBJECT_BYTES 1200u /* with the hash table of an empty one */
#define ARRAY_BYTES  400u
#define VALUE_BYTES  128u /* with its key, and its place in a table that doubles */

struct json_walk {
    const char *at;
    const char *end;
};

static bool json_walk_value(struct json_walk *w, int depth);

static void json_walk_blanks(struct json_walk *w)
{
    while (w->at < w->end &&
           (*w->at == ' ' || *w->at == '\t' || *w->at == '\r' || *w->at == '\n')) {
        w->at++;
    }
}

static bool json_walk_char(struct json_walk *w, char c)
{
    if (w->at == w->end || *w->at != c) {
        return false;
    }
    w->at++;
    return true;
}

static bool json_walk_word(struct json_walk *w, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(w->end - w->at) < len || memcmp(w->at, word, len) != 0) {
        return false;
    }
    w->at += len;
    return true;
}

static bool json_walk_escape(struct json_walk *w)
{
    if (json_walk_char(w, 'u')) {
        for (int i = 0; i < 4; i++, w->at++) {
            if (w->at == w->end || !isxdigit((unsigned char)*w->at)) {
                return false;
            }
        }
        return true;
    }
    return w->at < w->end && *w->at && strchr("\"\\/bfnrt", *w->at++);
}

static bool json_walk_string(struct json_walk *w)
{
    if (!json_walk_char(w, '"')) {
        return false;
    }
    while (w->at < w->end) {
        unsigned char c = (unsigned char)*w->at++;
        if (c == '"') {
            return true;
        }
        if (c < ' ' || (c == '\\' && !json_walk_escape(w))) {
            return false;
        }
    }
    return false;
}

static bool json_walk_digits(struct json_walk *w)
{
    const char *start = w->at;
    while (w->at < w->end && isdigit((unsigned char)*w->at)) {
        w->at++;
    }
    return w->at > start;
}

static bool json_walk_number(struct json_walk *w)
{
    (void)json_walk_char(w, '-');
    if (json_walk_word(w, "NaN") || json_walk_word(w, "Infinity")) {
        return true;
    }
    if (!json_walk_char(w, '0') && !json_walk_digits(w)) {
        return false;
    }
    if (json_walk_char(w, '.') && !json_walk_digits(w)) {
        return false;
    }
    if (json_walk_char(w, 'e') || json_walk_char(w, 'E')) {
        if (!json_walk_char(w, '-')) {
            (void)json_walk_char(w, '+');
        }
        return json_walk_digits(w);
    }
    return true;
}

/* Of an array or an object, behind its opening bracket. */
static bool json_walk_members(struct json_walk *w, char close, int depth)
{
    json_walk_blanks(w);
    if (json_walk_char(w, close)) {
        return true;
    }
    for (;;) {
        json_walk_blanks(w);
        if (close == '}') {
            if (!json_walk_string(w)) {
                return false;
            }
            json_walk_blanks(w);
            if (!json_walk_char(w, ':')) {
                return false;
            }
        }
        if (!json_walk_value(w, depth)) {
            return false;
        }
        json_walk_blanks(w);
        if (!json_walk_char(w, ',')) {
            return json_walk_char(w, close);
        }
    }
}

static bool json_walk_value(struct json_walk *w, int depth)
{
    json_walk_blanks(w);
    if (w->at == w->end || depth == 0) {
        return false;
    }
    switch (*w->at) {
    case '{':
    case '[':
        return json_walk_members(w, *w->at++ == '{' ? '}' : ']', depth - 1);
    case '"':
        return json_walk_string(w);
    case 't':
        return json_walk_word(w, "true");
    case 'f':
        return json_walk_word(w, "false");
    case 'n':
        return json_walk_word(w, "null");
    default:
        return json_walk_number(w);
    }
}

bool json_is_object(const char *text, size_t len, int depth)
{
    struct json_walk w = {text, text + len};
    json_walk_blanks(&w);
    if (w.at == w.end || *w.at != '{' || !json_walk_value(&w, depth)) {
        return false;
    }
    json_walk_blanks(&w);
    return w.at == w.end;
}

/* Brackets in strings count, too: a string cannot hide anything. */
size_t json_tree_bytes(const char *text, size_t len)
{
    size_t bytes = len + VALUE_BYTES;
    for (size_t i = 0; i < len; i++) {
        bytes += text[i] == '{'                     ? OBJECT_BYTES
                 : text[i] == '['                   ? ARRAY_BYTES
                 : text[i] == ',' || text[i] == ':' ? VALUE_BYTES
                                                    : 0;
    }
    return bytes;
}
