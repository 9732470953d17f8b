/* SPDX-License-Identifier: Apache-2.0 */
/* Parses lists of subordinate ids and of accounts; finds the range of a user id. */
#include "upload/owners/subordinate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

/* A field of a line, up to the next colon. */
struct subordinate_text {
    const char *text;
    size_t len;
};

/* Takes the next line off \p text. */
static struct subordinate_text subordinate_line(struct subordinate_text *text)
{
    const char *end = memchr(text->text, '\n', text->len);
    struct subordinate_text line = {text->text,
                                    end ? (size_t)(end - text->text) : text->len};
    size_t taken = line.len + (end != NULL);
    text->text += taken;
    text->len -= taken;
    return line;
}

/* Takes the next field off \p line. */
static struct subordinate_text subordinate_field(struct subordinate_text *line)
{
    const char *end = line->len ? memchr(line->text, ':', line->len) : NULL;
    struct subordinate_text field = {line->text,
                                     end ? (size_t)(end - line->text) : line->len};
    size_t taken = field.len + (end != NULL);
    line->text += taken;
    line->len -= taken;
    return field;
}

/* A decimal number below 2^32 - 1, which is no uid, or, as a count, up to 2^32. */
static bool subordinate_number(struct subordinate_text field, uint64_t limit,
                               uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < field.len; i++) {
        if (field.text[i] < '0' || field.text[i] > '9' || *out > limit) {
            return false;
        }
        *out = 10 * *out + (uint64_t)(field.text[i] - '0');
    }
    return field.len > 0 && *out <= limit;
}

static uint64_t subordinate_name(struct subordinate_text name)
{
    uint64_t hash = hash64_bytes(HASH64_BASIS, name.text, name.len);
    return hash ? hash : 1;
}

/* \return false for a line that names no range. */
static bool subordinate_read_range(struct subordinate_text line,
                                   struct subordinate_range *out)
{
    struct subordinate_text account = subordinate_field(&line);
    struct subordinate_text first = subordinate_field(&line);
    uint64_t begin;
    uint64_t count;
    uint64_t uid;
    if (account.len == 0 || account.text[0] == '#' ||
        !subordinate_number(first, UINT32_MAX - 1, &begin) ||
        !subordinate_number(line, (uint64_t)UINT32_MAX + 1, &count) || count == 0) {
        return false;
    }
    bool named = !subordinate_number(account, UINT32_MAX - 1, &uid);
    uint64_t last = begin + count - 1;
    *out = (struct subordinate_range){
        .first = (uint32_t)begin,
        .last = last < UINT32_MAX - 1 ? (uint32_t)last : UINT32_MAX - 1,
        .owner = named ? SUBORDINATE_OWNER_NONE : (uint32_t)uid,
        .name = named ? subordinate_name(account) : 0};
    return true;
}

static bool subordinate_add(struct subordinate_ranges *ranges, size_t *room,
                            const struct subordinate_range *range)
{
    struct subordinate_range *more =
        array_grown(ranges->range, ranges->count, room, sizeof *more);
    if (more) {
        ranges->range = more;
        more[ranges->count++] = *range;
    }
    return more != NULL;
}

static int subordinate_by_name(const void *a, const void *b)
{
    const struct subordinate_range *left = a;
    const struct subordinate_range *right = b;
    return (left->name > right->name) - (left->name < right->name);
}

static int subordinate_by_first(const void *a, const void *b)
{
    const struct subordinate_range *left = a;
    const struct subordinate_range *right = b;
    return left->first != right->first
               ? (left->first > right->first ? 1 : -1)
               : (left->last < right->last) - (left->last > right->last);
}

/* \return the first of the ranges, which are in the order of their names, that \p name
 * does not come after. */
static size_t subordinate_first_of(const struct subordinate_ranges *ranges, uint64_t name)
{
    size_t from = 0;
    size_t to = ranges->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (ranges->range[middle].name < name) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

/* Of two accounts of one name, the first one counts, as everywhere. */
static void subordinate_name_owners(struct subordinate_ranges *ranges,
                                    struct subordinate_text accounts)
{
    qsort(ranges->range, ranges->count, sizeof *ranges->range, subordinate_by_name);
    while (accounts.len > 0) {
        struct subordinate_text line = subordinate_line(&accounts);
        struct subordinate_text name = subordinate_field(&line);
        (void)subordinate_field(&line); /* the password */
        uint64_t uid;
        if (name.len == 0 ||
            !subordinate_number(subordinate_field(&line), UINT32_MAX - 1, &uid)) {
            continue;
        }
        uint64_t key = subordinate_name(name);
        for (size_t i = subordinate_first_of(ranges, key);
             i < ranges->count && ranges->range[i].name == key &&
             ranges->range[i].owner == SUBORDINATE_OWNER_NONE;
             i++) {
            ranges->range[i].owner = (uint32_t)uid;
        }
    }
}

static void subordinate_part(struct subordinate_ranges *ranges)
{
    size_t kept = 0;
    uint64_t free_from = 0; /* the first id that none has */
    qsort(ranges->range, ranges->count, sizeof *ranges->range, subordinate_by_first);
    for (size_t i = 0; i < ranges->count; i++) {
        struct subordinate_range range = ranges->range[i];
        if (range.last < free_from) {
            continue;
        }
        range.first = range.first < free_from ? (uint32_t)free_from : range.first;
        free_from = (uint64_t)range.last + 1;
        ranges->range[kept++] = range;
    }
    ranges->count = kept;
}

void subordinate_read(const char *text, size_t len, const char *accounts,
                      size_t accounts_len, struct subordinate_ranges *out)
{
    struct subordinate_text rest = {text, len};
    struct subordinate_range range;
    size_t room = 0;
    *out = (struct subordinate_ranges){0};
    while (rest.len > 0 && out->count < SUBORDINATE_RANGES_MAX) {
        struct subordinate_text line = subordinate_line(&rest);
        if (subordinate_read_range(line, &range) &&
            !subordinate_add(out, &room, &range)) {
            subordinate_free(out);
            return;
        }
    }
    if (out->count > 0) {
        subordinate_name_owners(out, (struct subordinate_text){accounts, accounts_len});
        subordinate_part(out);
    }
}

const struct subordinate_range *subordinate_find(const struct subordinate_ranges *ranges,
                                                 uint32_t uid)
{
    size_t from = 0;
    size_t to = ranges->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (ranges->range[middle].last < uid) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from < ranges->count && ranges->range[from].first <= uid ? &ranges->range[from]
                                                                    : NULL;
}

void subordinate_free(struct subordinate_ranges *ranges)
{
    free(ranges->range);
    *ranges = (struct subordinate_ranges){0};
}
