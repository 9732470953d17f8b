/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the top-level members of a record, by bytes and without copies. */
#include "schema/record_field.h"

#include <string.h>

/* Each step takes the place it begins at and returns the place behind what it stepped
 * over; NULL when that is not there. NULL goes in as well, and comes out. */

static const char *over_space(const char *at, const char *end)
{
    while (at && at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')) {
        at++;
    }
    return at;
}

static const char *over_mark(const char *at, const char *end, char mark)
{
    at = over_space(at, end);
    return at && at < end && *at == mark ? at + 1 : NULL;
}

static const char *over_string(const char *at, const char *end, struct record_text *out)
{
    at = over_mark(at, end, '"');
    out->at = at;
    while (at && at < end) {
        if (*at == '"') {
            out->len = (size_t)(at - out->at);
            return at + 1;
        }
        at += *at == '\\' && end - at > 1 ? 2 : 1;
    }
    return NULL;
}

/* An object or array, whose brackets are only counted. */
static const char *over_nested(const char *at, const char *end)
{
    struct record_text inside;
    size_t depth = 0;
    while (at && at < end) {
        if (*at == '"') {
            at = over_string(at, end, &inside);
            continue;
        }
        depth += *at == '{' || *at == '[';
        if ((*at == '}' || *at == ']') && --depth == 0) {
            return at + 1;
        }
        at++;
    }
    return NULL;
}

static const char *over_value(const char *at, const char *end)
{
    struct record_text inside;
    at = over_space(at, end);
    if (!at || at == end) {
        return NULL;
    }
    if (*at == '"') {
        return over_string(at, end, &inside);
    }
    if (*at == '{' || *at == '[') {
        return over_nested(at, end);
    }
    while (at < end && *at != ',' && *at != '}' && *at != ']') {
        at++;
    }
    return at;
}

/* The key of a member and the colon behind it. */
static const char *over_key(const char *at, const char *end, struct record_text *name)
{
    return over_mark(over_string(at, end, name), end, ':');
}

/* The place of the value of \p key, or NULL. */
static const char *value_of(const char *line, const char *end, const char *key)
{
    size_t key_len = strlen(key);
    struct record_text name;
    const char *at = over_mark(line, end, '{');
    while (at) {
        at = over_key(at, end, &name);
        if (at && name.len == key_len && memcmp(name.at, key, key_len) == 0) {
            return over_space(at, end);
        }
        at = over_mark(over_value(at, end), end, ',');
    }
    return NULL;
}

/* Whether \p escape, behind its backslash, is `uXXXX` for \p c. */
static bool escape_is(const char *escape, size_t len, char c)
{
    static const char digits[] = "0123456789abcdef";
    unsigned code = 0;
    if (len < 5 || *escape != 'u') {
        return false;
    }
    for (int i = 1; i < 5; i++) {
        const char *digit = memchr(digits, escape[i] | ' ', sizeof digits - 1);
        if (!digit) {
            return false;
        }
        code = code * 16 + (unsigned)(digit - digits);
    }
    return code == (unsigned char)c;
}

static bool spells(struct record_text name, const char *key)
{
    size_t at = 0;
    for (; *key && at < name.len; key++) {
        bool plain = name.at[at] == *key;
        if (!plain && (name.at[at] != '\\' ||
                       !escape_is(name.at + at + 1, name.len - at - 1, *key))) {
            return false;
        }
        at += plain ? 1 : sizeof "\\u0000" - 1;
    }
    return !*key && at == name.len;
}

bool record_field_next(struct record_text *rest, struct record_text *name,
                       struct record_text *value)
{
    const char *end = rest->at + rest->len;
    const char *mark = over_space(rest->at, end);
    bool more = mark && mark < end && (*mark == '{' || *mark == ',');
    const char *at = over_space(over_key(more ? mark + 1 : NULL, end, name), end);
    const char *behind = over_value(at, end);
    value->at = at;
    value->len = behind ? (size_t)(behind - at) : 0;
    rest->at = behind;
    rest->len = behind ? (size_t)(end - behind) : 0;
    return behind != NULL;
}

bool record_field_in_object(const char *line, size_t len)
{
    return len > 1 && line[0] == '{' && line[len - 1] == '}';
}

unsigned record_field_times(const char *line, size_t len, const char *key)
{
    const char *end = line + len;
    struct record_text name;
    unsigned times = 0;
    const char *at = over_mark(line, end, '{');
    while ((at = over_key(at, end, &name))) {
        times += spells(name, key);
        at = over_mark(over_value(at, end), end, ',');
    }
    return times;
}

unsigned record_field_members(const char *line, size_t len)
{
    const char *end = line + len;
    struct record_text name;
    unsigned members = 0;
    const char *at = over_mark(line, end, '{');
    while ((at = over_key(at, end, &name))) {
        members += memchr(name.at, '\\', name.len) == NULL;
        at = over_mark(over_value(at, end), end, ',');
    }
    return members;
}

bool record_field_text(const char *line, size_t len, const char *key,
                       struct record_text *out)
{
    const char *end = line + len;
    return over_string(value_of(line, end, key), end, out) != NULL;
}

bool record_field_is(const char *line, size_t len, const char *key, const char *value)
{
    struct record_text text;
    size_t value_len = strlen(value);
    return record_field_text(line, len, key, &text) && text.len == value_len &&
           memcmp(text.at, value, value_len) == 0;
}

bool record_field_int64(const char *line, size_t len, const char *key, int64_t *out)
{
    const char *end = line + len;
    const char *begin = value_of(line, end, key);
    const char *at = begin;
    int64_t number = 0;
    for (; at && at < end && *at >= '0' && *at <= '9'; at++) {
        if (number > (INT64_MAX - 9) / 10) {
            return false;
        }
        number = number * 10 + (*at - '0');
    }
    *out = number;
    return at && at > begin && at < end && memchr(",} \t\r\n", *at, 6);
}
