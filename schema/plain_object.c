/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over the members of an object once. */
#include "schema/plain_object.h"

#include <string.h>

bool plain_object_is(struct record_text text, const char *as)
{
    return text.len == strlen(as) && memcmp(text.at, as, text.len) == 0;
}

static bool plain_object_is_new(const struct record_text *seen, unsigned count)
{
    const struct record_text name = seen[count];
    for (unsigned i = 0; i < count; i++) {
        if (seen[i].len == name.len && memcmp(seen[i].at, name.at, name.len) == 0) {
            return false;
        }
    }
    return !memchr(name.at, '\\', name.len);
}

bool plain_object_read(const char *text, size_t len, const char *const *keys,
                       unsigned count, struct record_text *out)
{
    struct record_text seen[PLAIN_OBJECT_MEMBERS_MAX + 1];
    struct record_text rest = {text, len};
    struct record_text value;
    memset(out, 0, count * sizeof *out);
    for (unsigned n = 0; record_field_next(&rest, &seen[n], &value); n++) {
        if (n == PLAIN_OBJECT_MEMBERS_MAX || !plain_object_is_new(seen, n)) {
            return false;
        }
        for (unsigned i = 0; i < count; i++) {
            out[i] = plain_object_is(seen[n], keys[i]) ? value : out[i];
        }
    }
    return true;
}

bool plain_object_has_object(struct record_text value)
{
    return value.len && value.at[0] == '{';
}

int64_t plain_object_int(struct record_text value, int64_t max)
{
    int64_t number = 0;
    size_t at = 0;
    while (at < value.len && value.at[at] >= '0' && value.at[at] <= '9' &&
           number <= (INT64_MAX - 9) / 10) {
        number = number * 10 + (value.at[at++] - '0');
    }
    bool whole = at > 0 && (at == value.len || strchr(" \t\r\n", value.at[at]));
    return whole && number <= max ? number : -1;
}

struct record_text plain_object_string(struct record_text value)
{
    bool is = value.len >= 2 && value.at[0] == '"';
    return is ? (struct record_text){value.at + 1, value.len - 2}
              : (struct record_text){"", 0};
}

void plain_object_copy(struct record_text value, char *out, size_t size)
{
    const struct record_text text = plain_object_string(value);
    size_t len = text.len < size ? text.len : size - 1;
    memcpy(out, text.at, len);
    out[len] = '\0';
}
