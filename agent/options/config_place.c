/* SPDX-License-Identifier: Apache-2.0 */
/* Walks JSON text without making anything of it. Takes what json-c takes: comments,
 * either kind of quote. */
#include "agent/options/config_place.h"

#include <string.h>

struct place_walk {
    const char *at;
    const char *end;
};

static bool walk_sees(const struct place_walk *w, const char *word)
{
    size_t len = strlen(word);
    return (size_t)(w->end - w->at) >= len && memcmp(w->at, word, len) == 0;
}

/* Goes behind the next \p word, or to the end. */
static void walk_past(struct place_walk *w, const char *word)
{
    while (w->at < w->end && !walk_sees(w, word)) {
        w->at++;
    }
    size_t left = (size_t)(w->end - w->at);
    w->at += left < strlen(word) ? left : strlen(word);
}

static void walk_past_blanks(struct place_walk *w)
{
    while (w->at < w->end) {
        if (walk_sees(w, "/*")) {
            walk_past(w, "*/");
        } else if (walk_sees(w, "//")) {
            walk_past(w, "\n");
        } else if (strchr(" \t\r\n,:", *w->at) && *w->at) {
            w->at++;
        } else {
            return;
        }
    }
}

/* Goes behind a quoted string. */
static void walk_past_string(struct place_walk *w)
{
    char quote = *w->at++;
    while (w->at < w->end && *w->at != quote) {
        w->at += *w->at == '\\' && w->end - w->at > 1 ? 2 : 1;
    }
    w->at += w->at < w->end;
}

static void walk_past_value(struct place_walk *w)
{
    int depth = 0;
    do {
        walk_past_blanks(w);
        if (w->at == w->end) {
            return;
        }
        if (*w->at == '"' || *w->at == '\'') {
            walk_past_string(w);
            continue;
        }
        depth += *w->at == '{' || *w->at == '[';
        depth -= *w->at == '}' || *w->at == ']';
        w->at++;
        while (depth == 0 && w->at < w->end && !strchr(" \t\r\n,:/{}[]\"'", *w->at)) {
            w->at++; /* the rest of a number or a word */
        }
    } while (depth > 0);
}

/* From an object to the value of its member \p key; the last one counts, as for json-c.
 * \return where the key stands, NULL when there is none. */
static const char *enter_member(struct place_walk *w, const char *key)
{
    const char *found = NULL;
    const char *value = NULL;
    size_t len = strlen(key);
    walk_past_blanks(w);
    w->at += w->at < w->end;
    for (walk_past_blanks(w); w->at < w->end && *w->at != '}'; walk_past_blanks(w)) {
        const char *name = w->at;
        walk_past_value(w);
        bool same = (size_t)(w->at - name) == len + 2 && memcmp(name + 1, key, len) == 0;
        walk_past_blanks(w);
        if (same) {
            found = name;
            value = w->at;
        }
        if (w->at < w->end && *w->at != '}') {
            walk_past_value(w);
        }
    }
    w->at = value ? value : w->at;
    return found;
}

/* From an array to its element \p index. */
static void enter_element(struct place_walk *w, int index)
{
    walk_past_blanks(w);
    w->at += w->at < w->end;
    for (int i = 0; i < index && w->at < w->end; i++) {
        walk_past_value(w);
    }
}

size_t config_place_of(const char *text, size_t len, const struct config_key *key)
{
    struct place_walk w = {.at = text, .end = text + len};
    const char *group = key->group ? enter_member(&w, key->group) : NULL;
    if (!group) {
        return 0;
    }
    if (key->element >= 0) {
        enter_element(&w, key->element);
    }
    const char *place = key->key ? enter_member(&w, key->key) : NULL;
    return (size_t)((place ? place : group) - text);
}

/* Whether the object whose members begin at \p w has \p name before. */
static bool walk_had_name(struct place_walk w, const char *name, size_t len,
                          struct config_twice *out)
{
    for (walk_past_blanks(&w); w.at < name; walk_past_blanks(&w)) {
        const char *other = w.at;
        walk_past_value(&w);
        if ((size_t)(w.at - other) == len && len >= 2 &&
            memcmp(other + 1, name + 1, len - 2) == 0) {
            *out = (struct config_twice){.first = other, .again = name, .len = len};
            return true;
        }
        walk_past_value(&w);
    }
    return false;
}

/* Goes behind the value unless an object in it has a name twice. It is no deeper than the
 * parser takes. */
static bool walk_finds_twice(struct place_walk *w, struct config_twice *out)
{
    walk_past_blanks(w);
    bool object = w->at < w->end && *w->at == '{';
    if (!object && !(w->at < w->end && *w->at == '[')) {
        walk_past_value(w);
        return false;
    }
    w->at++;
    const struct place_walk begin = *w;
    for (walk_past_blanks(w); w->at < w->end && *w->at != '}' && *w->at != ']';
         walk_past_blanks(w)) {
        const char *name = w->at;
        if (object) {
            walk_past_value(w);
        }
        if ((object && walk_had_name(begin, name, (size_t)(w->at - name), out)) ||
            walk_finds_twice(w, out)) {
            return true;
        }
    }
    w->at += w->at < w->end;
    return false;
}

bool config_place_twice(const char *text, size_t len, struct config_twice *out)
{
    struct place_walk w = {.at = text, .end = text + len};
    return walk_finds_twice(&w, out);
}

void config_place_line(const char *text, size_t len, size_t offset, unsigned *line,
                       unsigned *column)
{
    *line = 1;
    *column = 1;
    for (size_t i = 0; i < offset && i < len; i++) {
        if (text[i] == '\n') {
            ++*line;
            *column = 1;
        } else {
            *column += ((unsigned char)text[i] & 0xc0) != 0x80; /* UTF-8 goes on */
        }
    }
}
